package measure_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
)

func TestMain(m *testing.M) {
	servertest.Become(map[string]func() error{
		"host":   func() error { return redis.HostMain(os.Stdin, os.Stdout) },
		"client": func() error { return measure.ClientMain(context.Background(), os.Stdin, os.Stdout, impls.Every()) },
		"program": func() error {
			own, _ := impls.Find("setpx-lua")
			own.Name = "mine"
			_, err := measure.ProgramMain(context.Background(), os.Args[1:], os.Stdin, os.Stdout, []impls.Spec{own})
			return err
		},
	})
	goleak.VerifyTestMain(m)
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
	p, err := measure.Open(t.Context(), measure.Config{Guard: servertest.As("guard"), Host: servertest.As("host"), Client: servertest.As("client"), Server: kind, Tell: tell})
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
