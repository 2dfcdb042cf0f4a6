package lab_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/rundir"
)

// The page of a run is that of its saved histories, byte by byte, and is the same in whichever order its cells ended.
func TestPageOfARunIsThatOfItsHistories(t *testing.T) {
	cases := someCases(t, 13)
	var first string
	for _, parallel := range []int{1, 8} {
		plan := inSim(cases)
		plan.Parallel, plan.Seed, plan.Results.Dir = parallel, int64(parallel), filepath.Join(t.TempDir(), "run")
		run, err := lab.Run(t.Context(), plan)
		require.NoError(t, err)
		written, err := os.ReadFile(filepath.Join(run.Dir, rundir.PageFile))
		require.NoError(t, err)
		var again bytes.Buffer
		require.NoError(t, lab.WritePage(&again, run, ""))
		assert.True(t, again.String() == string(written), "with %d at a time", parallel)

		text, _, found := strings.Cut(string(written), `<dl class="facts">`)
		_, data, has := strings.Cut(string(written), `<script type="text/plain"`)
		require.True(t, found && has)
		if first == "" {
			first = text + data
		}
		assert.True(t, first == text+data, "with %d at a time", parallel)
	}
}
