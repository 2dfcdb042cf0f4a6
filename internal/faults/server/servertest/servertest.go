// Package servertest is what tests need that start servers: a guard of processes, and a bound of time.
//
// It owns how a test's own binary becomes another program. It must not know any kind of server.
package servertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/needs"
)

// Role is the variable that says what else than a test the test's binary is.
const Role = "LOCKLAB_TEST_ROLE"

// As is the command that runs the test's binary in a role.
func As(role string) []string {
	return []string{"/usr/bin/env", Role + "=" + role, "GORACE=atexit_sleep_ms=0", os.Args[0]}
}

// Become has the binary be what its role says, whose first word is one of the roles; a guard is one everywhere. It returns if it has no role.
func Become(roles map[string]func() error) {
	role, _, _ := strings.Cut(os.Getenv(Role), " ")
	run := roles[role]
	switch {
	case role == "":
		return
	case run == nil && role == "guard":
		run = func() error { return process.GuardMain(os.Stdin, os.Stdout, nil) }
	case run == nil:
		run = func() error { return fmt.Errorf("%s: no role is called %q", Role, role) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Main runs the tests, or what the binary is in its role.
func Main(m *testing.M, roles map[string]func() error) {
	Become(roles)
	needs.SideBySide(6)
	// As in internal/faults/network: a goroutine of toxiproxy may be left behind on a connection that died while a reply was coming in.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"))
}

// Bounded is the test's context: it ends a test that hangs. One that starts several servers takes twenty seconds where it has a twentieth of a core.
func Bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// StartGuard starts a guard of processes, which ends with the test.
func StartGuard(t *testing.T) *process.Guard {
	t.Helper()
	guard, err := process.StartGuard(As("guard"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close()) })
	return guard
}
