//go:build linux || darwin

package replay_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/worker"
)

// role makes the test binary another program: see TestMain.
const role = "LOCKLAB_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "guard":
		exitWith(live.GuardMain(os.Stdin, os.Stdout))
	case "worker":
		exitWith(worker.Run(context.Background(), os.Stdin, os.Stdout, impls.All()))
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// as is the command line that runs the test binary in a role. With the race detector, a process would sleep for a second before
// it exits.
func as(what string) []string {
	return []string{"/usr/bin/env", role + "=" + what, "GORACE=atexit_sleep_ms=0", os.Args[0]}
}
