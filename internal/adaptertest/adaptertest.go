// Package adaptertest owns how the reviewed table of a client in adapters is played: every row, and nothing but its rows.
//
// It must not know any of the clients.
package adaptertest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

var rounds = flag.Int("rounds", 1, "play each cell so often")

// Table is expected.txt in the test's directory: what the lab's scenarios, and the scripts beside it, show of a client's locks.
type Table struct {
	Server   string
	Locks    []string
	Client   func(lock string) []string // the command that starts it
	Parallel int                        // cells at a time; 0: the lab's default
	Short    []string                   // the cells that -short plays, "LOCK/SCENARIO"; empty: all
}

// Play plays every cell of the table. Each has to come out as reviewed, and each row names a scenario and a lock that there are.
func (table Table) Play(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("expected.txt")
	require.NoError(t, err)
	matrix, err := scenarios.ParseExpected("expected.txt", text)
	require.NoError(t, err)

	var cases []lab.Case
	expect := lab.ExpectIn(matrix, lab.Expect(nil))
	subjects := table.meet(t)
	rows := 0
	for _, script := range scripts(t) {
		for _, lock := range table.Locks {
			if _, listed := matrix.Lookup(script.Name, lock); !listed {
				continue
			}
			rows++
			if testing.Short() && len(table.Short) > 0 && !slices.Contains(table.Short, lock+"/"+script.Name) {
				continue
			}
			cases = append(cases, lab.Cases([]*scenarios.Script{script}, []play.Subject{subjects[lock]}, *rounds, expect)...)
		}
	}
	require.Equal(t, countRows(string(text)), rows, "the table names a scenario or a lock that there is not")

	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{Server: table.Server}, Results: lab.Results{Dir: t.TempDir()}, Parallel: table.Parallel,
	}})
	require.NoError(t, err)
	for _, cell := range run.Cells {
		assert.False(t, cell.Surprise(), "%s, %s, round %d: %s instead of %s; %s", cell.Lock, cell.Scenario, cell.Round, cell.Verdict, cell.Expected.Verdict, cell.Verdict.Reason)
	}
}

// meet has each lock's client say hello.
func (table Table) meet(t *testing.T) map[string]play.Subject {
	t.Helper()
	subjects := map[string]play.Subject{}
	for _, lock := range table.Locks {
		subject, err := lab.Meet(t.Context(), lab.Setting{Server: table.Server}, play.Subject{Argv: table.Client(lock)})
		require.NoError(t, err)
		require.Equal(t, lock, subject.Name)
		subjects[lock] = subject
	}
	return subjects
}

// scripts are the lab's, and those in the test's directory.
func scripts(t *testing.T) []*scenarios.Script {
	t.Helper()
	all, err := scenarios.Builtin()
	require.NoError(t, err)
	files, err := filepath.Glob("*.lab")
	require.NoError(t, err)
	for _, file := range files {
		own, err := scenarios.ParseFile(file)
		require.NoError(t, err)
		all = append(all, own)
	}
	return all
}

func countRows(table string) (rows int) {
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			rows++
		}
	}
	return rows
}

// Self is the command that starts the running test binary as the client of a lock: role is its first argument then.
func Self(t *testing.T, role string) func(lock string) []string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return func(lock string) []string { return []string{path, role, "-lock", lock} }
}
