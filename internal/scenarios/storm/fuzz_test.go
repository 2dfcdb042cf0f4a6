package storm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// FuzzConclude: no history that can be read makes the judge of storms panic, whatever the lock promised.
func FuzzConclude(f *testing.F) {
	paths, err := filepath.Glob("../../../cmd/lab/testdata/runs/suite/*/*/history.jsonl")
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for i, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(text), uint8(i))
	}
	locks := impls.All()
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		file, err := history.Read(t.Context(), strings.NewReader(text), os.DevNull)
		if err != nil {
			return
		}
		v, summary := storm.Conclude(file.Events, storm.ContractOf(locks[int(which)%len(locks)]), record.Storm{})
		require.NotEmpty(t, v.Kind)
		require.NotNil(t, summary)
	})
}
