package kits_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

const longWay = `# A release arrives when the lock is another client's. C3 has no part in it.
lease    300ms
clients  C1 C2 C3

C1  acquire => ok
C1  release hold before first DEL
    wait until expired
C1  give up
C3  acquire => ok
C3  release => ok
C2  acquire => ok
C1  arrives late
`

// TestWhatAKitShowsIsShrunk: of what a lock on the kit for Go has shown, the steps remain that it takes.
func TestWhatAKitShowsIsShrunk(t *testing.T) {
	needs.Long(t, "builds a client in Go and shrinks what it shows")
	t.Parallel()
	subject, err := lab.Meet(t.Context(), lab.Setting{}, changed(t, "go", "main.go", "const release", "const _",
		"return l.redis.Eval(op, release, []string{l.Key}, l.token).Bool()", "n, err := l.redis.Del(op, l.Key).Result(); return n == 1, err"))
	require.NoError(t, err)
	script, err := scenarios.Parse("long", []byte(longWay))
	require.NoError(t, err)
	dir := t.TempDir()
	run, err := lab.Run(t.Context(), lab.Plan{
		Cases:   lab.Cases([]*scenarios.Script{script}, []play.Subject{subject}, 1, lab.Expect(nil)),
		Options: lab.Options{Results: lab.Results{Dir: dir}},
	})
	require.NoError(t, err)
	cell := run.Cells[0]
	require.Contains(t, cell.Verdict.Names(), checker.WrongfulDelete, cell.Verdict)
	file, err := os.Open(filepath.Join(dir, cell.Dir, play.HistoryFile))
	require.NoError(t, err)
	defer file.Close()
	saved, err := history.Read(t.Context(), file, file.Name())
	require.NoError(t, err)
	shrunk, err := lab.Shrink(t.Context(), lab.ShrinkPlan{
		Subject: subject, Events: saved.Events, Anomalies: cell.Verdict.Anomalies[:1], Lease: time.Second, Parallel: 2,
	})
	require.NoError(t, err)
	require.NotNil(t, shrunk.Script, "%v", shrunk.Tried)
	small := string(scenarios.Format(shrunk.Script))
	require.Less(t, len(shrunk.Script.Steps), len(script.Steps), small)
	require.NotContains(t, small, "C3", "it has no part in that")
}
