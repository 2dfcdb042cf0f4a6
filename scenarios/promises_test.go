package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

// TestMatrixKeepsPromises holds the reviewed matrix against the locks' cards: what a sound lock promises, no scenario may be
// expected to refute; and without faults there is no anomaly.
func TestMatrixKeepsPromises(t *testing.T) {
	refutes := map[impls.Promise]checker.Name{
		impls.ReleaseByOwner: checker.WrongfulDelete,
		impls.RenewByOwner:   checker.WrongfulRenew,
		impls.CrashSafety:    checker.StuckLock,
	}
	matrix, err := BuiltinExpected()
	require.NoError(t, err)
	scripts, err := Builtin()
	require.NoError(t, err)
	for _, spec := range impls.Every() {
		for _, script := range scripts {
			expected, ok := matrix.Lookup(script.Name, spec.Name)
			require.True(t, ok, "%s in %s is not in the matrix", spec.Name, script.Name)
			names := expected.Names()
			for _, promise := range spec.Promises {
				if promise == impls.CrashSafety && (threadDies(script) || setsServerBack(script)) {
					continue // the process lives on, and what renews the lock in it; by the clock of the server the lease has not ended
				}
				if name, ok := refutes[promise]; ok && spec.Bug == "" {
					require.NotContains(t, names, name, "%s in %s, though it promises %s", spec.Name, script.Name, promise)
				}
			}
		}
		if spec.Needs == impls.NoServer {
			continue // a lock of one process fails where there are two
		}
		quiet, _ := matrix.Lookup("take-turns", spec.Name)
		require.Equal(t, checker.Safe, quiet.Kind, "%s is accused where nothing went wrong", spec.Name)
	}
}

func threadDies(script *Script) bool {
	return slices.ContainsFunc(script.Steps, func(s Step) bool { return s.Verb == VerbThreadDies })
}

func setsServerBack(script *Script) bool {
	return slices.ContainsFunc(script.Steps, func(s Step) bool { return s.Verb == VerbServerJump && s.Span.Of(time.Second) < 0 })
}

// TestMatrixVariants: each variant in the matrix is a lock with chosen bugs in a scenario, and the bugs that a published lock shows on
// request only are shown by one.
func TestMatrixVariants(t *testing.T) {
	matrix, err := BuiltinExpected()
	require.NoError(t, err)
	scripts, err := Builtin()
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, script := range scripts {
		for _, variant := range matrix.Variants(script.Name) {
			_, ok := impls.Find(variant)
			require.True(t, ok, "%s in %s", variant, script.Name)
			expected, _ := matrix.Lookup(script.Name, variant)
			shown[variant] = shown[variant] || expected.Kind == checker.Broken
		}
	}
	for _, spec := range impls.Every() {
		for _, bug := range spec.Bugs {
			if bug.Apart {
				require.True(t, shown[spec.Name+"/"+bug.Name], "nothing shows %s of %s", bug.Name, spec.Name)
			}
		}
	}
}

// TestKnownBadLocksAreCaught: each lock with a bug must be caught by what its article says of it.
func TestKnownBadLocksAreCaught(t *testing.T) {
	matrix, err := BuiltinExpected()
	require.NoError(t, err)
	scripts, err := Builtin()
	require.NoError(t, err)
	for lock, troubles := range map[string][]checker.Name{
		"setnx-del":    {checker.StuckLock},
		"setpx-del":    {checker.WrongfulDelete, checker.DoubleHolder},
		"setpx-getdel": {checker.WrongfulDelete, checker.DoubleHolder},
		"getset": {
			checker.EarlyGrant, checker.DoubleHolder, checker.Overwrite, checker.Unreleasable, checker.FalseAlarm, checker.WrongfulDelete,
		},
	} {
		var seen []checker.Name
		for _, script := range scripts {
			expected, _ := matrix.Lookup(script.Name, lock)
			seen = append(seen, expected.Names()...)
		}
		for _, trouble := range troubles {
			require.True(t, slices.Contains(seen, trouble), "nothing shows %s of %s", trouble, lock)
		}
	}
}
