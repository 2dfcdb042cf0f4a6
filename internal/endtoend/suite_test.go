//go:build linux || darwin

package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/report/rundir"
)

// suiteTime bounds a part of the suite. It takes a tenth of it on two cores that have nothing else to do.
const suiteTime = 2 * time.Minute

// TestPartOfTheSuite runs one in 480 cells, and judges the saved histories once more. All of the suite is run by .ci/run.
func TestPartOfTheSuite(t *testing.T) {
	skipRacing(t)
	for kind, first := range map[string]int{"embedded": 1, "redis-server": 13} {
		t.Run(kind, func(t *testing.T) {
			shard := fmt.Sprintf("%d/480", first)
			t.Parallel()
			if kind == "redis-server" {
				needs.Long(t, "the same on a redis-server")
				needs.Found(t, "redis", redis.Find)
			}
			lab := start(t, "run", "--json", "--server", kind, "--shard", shard)
			code := lab.exitCode(t, suiteTime)
			lab.nothingLeft(t, time.Second)
			dir, ok := lab.results(t)
			require.True(t, ok, lab.said(t))
			run, err := rundir.ReadRun(dir)
			require.NoError(t, err)
			asExpected(t, code, run)

			again, judged := lab.check(t, dir)
			assert.Equal(t, code, again, "check must exit as the run did")
			seen := verdicts(t, judged)
			require.Len(t, seen, len(run.Cells))
			assert.Equal(t, verdicts(t, []byte(read(t, lab.out))), seen)
			assert.Equal(t, saved(t, dir), seen)
		})
	}
}

// saved are the verdicts in run.json, by the directory of the cell: its very bytes, but without the blanks, and with the characters
// that are special in HTML as they are.
func saved(t *testing.T, dir string) map[string]string {
	t.Helper()
	var run struct {
		Cells []struct {
			Dir     string          `json:"dir"`
			Verdict json.RawMessage `json:"verdict"`
		} `json:"cells"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(dir, "run.json"))), &run))
	found := map[string]string{}
	for _, cell := range run.Cells {
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, cell.Verdict))
		found[cell.Dir] = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(compact.String())
	}
	return found
}
