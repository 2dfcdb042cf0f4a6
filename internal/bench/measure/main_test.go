package measure_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/needs"
)

// role makes the test binary a process of a measurement.
const role = "LOCKLAB_TEST_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "guard":
		err = process.GuardMain(os.Stdin, os.Stdout, nil)
	case "host":
		err = redis.HostMain(os.Stdin, os.Stdout)
	case "client":
		err = measure.ClientMain(context.Background(), os.Stdin, os.Stdout, impls.Every())
	case "program":
		own, _ := impls.Find("setpx-lua")
		own.Name = "mine"
		_, err = measure.ProgramMain(context.Background(), os.Args[1:], os.Stdin, os.Stdout, []impls.Spec{own})
	default:
		goleak.VerifyTestMain(m)
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// as is the command line that runs the test binary in a role. With the race detector, a process would sleep for a second before it exits.
func as(what string) []string {
	return []string{"/usr/bin/env", role + "=" + what, "GORACE=atexit_sleep_ms=0", os.Args[0]}
}

// open opens a place with an embedded server.
func open(t *testing.T, tell func(measure.Progress)) *measure.Place {
	return openOn(t, measure.Embedded, tell)
}

// openOn skips the test if there is no such server on this machine, unless it is required.
func openOn(t *testing.T, kind string, tell func(measure.Progress)) *measure.Place {
	t.Helper()
	if kind == measure.RedisServer {
		needs.Found(t, "redis", redis.Find)
	}
	p, err := measure.Open(t.Context(), measure.Config{Guard: as("guard"), Host: as("host"), Client: as("client"), Server: kind, Tell: tell})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func find(t *testing.T, names ...string) (specs []impls.Spec) {
	t.Helper()
	for _, name := range names {
		spec, found := impls.Find(name)
		require.True(t, found, name)
		specs = append(specs, spec)
	}
	return specs
}
