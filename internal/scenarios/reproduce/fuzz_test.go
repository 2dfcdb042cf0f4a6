package reproduce_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/scenarios"
)

// FuzzHistories: no history that can be read makes the writer of scripts panic, and what it writes is a script.
func FuzzHistories(f *testing.F) {
	paths, err := filepath.Glob("../../../cmd/lab/testdata/runs/suite/*/*/history.jsonl")
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(text), uint8(0))
	}
	locks := impls.All()
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		file, err := history.Read(t.Context(), strings.NewReader(text), os.DevNull)
		if err != nil {
			return
		}
		lock := locks[int(which)%len(locks)]
		for _, a := range checker.Conclude(file.Events, checker.Options{Timeout: 50 * time.Millisecond}).Anomalies {
			for _, how := range reproduce.Readings(lock, file.Events) {
				found, err := reproduce.FromHistory(lock, file.Events, a, how)
				if err != nil {
					continue
				}
				script, err := reproduce.Script(lock, found)
				if err != nil {
					require.NotEmpty(t, err.Error())
					continue
				}
				_, err = scenarios.Parse("race.lab", scenarios.Format(script))
				require.NoError(t, err)
			}
		}
	})
}
