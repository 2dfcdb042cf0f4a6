package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/play"
)

var rounds = flag.Int("rounds", 1, "play each cell so often")

// asClient is the first argument of this binary when it is a client.
const asClient = "postgres-client"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asClient {
		if err := run(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	lab.Serve()
	os.Exit(m.Run())
}

// TestScenarios: every cell of the reviewed table comes out as it says.
func TestScenarios(t *testing.T) {
	needPostgres(t)
	text, err := os.ReadFile("expected.txt")
	require.NoError(t, err)
	matrix, err := scenarios.ParseExpected("expected.txt", text)
	require.NoError(t, err)
	var own []*scenarios.Script
	for _, name := range []string{"freed-at-once.lab", "connection-lost.lab", "server-comes-back.lab"} {
		script, err := scenarios.ParseFile(name)
		require.NoError(t, err)
		own = append(own, script)
	}
	builtin, err := lab.Scenarios()
	require.NoError(t, err)

	expect := lab.ExpectIn(matrix, lab.Expect(nil))
	cases := lab.Cases(own, []play.Subject{subject(t, "postgres")}, *rounds, expect)
	listed := 0
	for _, script := range builtin {
		for _, spec := range Specs() {
			if _, found := matrix.Lookup(script.Name, spec.Name); found {
				cases = append(cases, lab.Cases([]*scenarios.Script{script}, []play.Subject{subject(t, spec.Name)}, *rounds, expect)...)
				listed++
			}
		}
	}
	require.Equal(t, strings.Count(string(text), "   postgres"), listed, "the table names a scenario that there is not")
	cells, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{Setting: lab.Setting{Server: live.Postgres}, Results: lab.Results{Dir: t.TempDir()}}})
	require.NoError(t, err)
	for _, cell := range cells.Cells {
		assert.False(t, cell.Surprise(), "%s, %s, round %d: %s instead of %s; %s", cell.Lock, cell.Scenario, cell.Round, cell.Verdict, cell.Expected.Verdict, cell.Verdict.Reason)
	}
}

// subject is the client for a lock.
func subject(t *testing.T, lock string) play.Subject {
	path, err := os.Executable()
	require.NoError(t, err)
	return play.Subject{Name: lock, Argv: []string{path, asClient, "-lock", lock}}
}

// needPostgres skips the test where there is no PostgreSQL, unless it is required.
func needPostgres(t *testing.T) {
	t.Helper()
	_, _, err := server.FindPostgres()
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), "postgres") {
		t.Fatal(err)
	}
	t.Skip(err)
}

func TestWrongArguments(t *testing.T) {
	require.ErrorContains(t, run([]string{"-lock", "zookeeper"}), `unknown lock "zookeeper"`)
	require.ErrorContains(t, run([]string{"more"}), "[more]")
}
