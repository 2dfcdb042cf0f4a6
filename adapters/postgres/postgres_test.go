package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/adaptertest"
	"github.com/locklab/locklab/internal/faults/server/postgres"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
)

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
	needs.Found(t, "postgres", postgres.Find)
	adaptertest.Table{Server: live.Postgres, Locks: names(), Client: adaptertest.Self(t, asClient)}.Play(t)
}

func names() (all []string) {
	for _, spec := range Specs() {
		all = append(all, spec.Card.Name)
	}
	return all
}

func TestWrongArguments(t *testing.T) {
	require.ErrorContains(t, run([]string{"-lock", "zookeeper"}), `unknown lock "zookeeper"`)
	require.ErrorContains(t, run([]string{"more"}), "[more]")
}
