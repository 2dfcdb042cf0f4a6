package sim_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

// gated takes the lock behind a gate, a second key, which has no lease.
type gated struct {
	impls.Lock
	env impls.Env
}

func (l gated) TryAcquire(ctx context.Context) (bool, error) {
	if reply, err := l.env.Server().Do(ctx, "SET", "gate", "shut", "NX"); reply != "OK" || err != nil {
		return false, err
	}
	held, err := l.Lock.TryAcquire(ctx)
	if err != nil {
		return false, err
	}
	_, err = l.env.Server().Do(ctx, "DEL", "gate")
	return held, err
}

// TestAGateThatIsShutIsNotSafe: a gate that a crashed client has left keeps all others out, and the lock's key does not show it. Nobody who asked
// has learned whether the lock was free, so nothing is shown.
func TestAGateThatIsShutIsNotSafe(t *testing.T) {
	spec, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	inner := spec.New
	spec.Name = "gated"
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock { return gated{inner(env, opts), env} }
	const script = "lease 1s\nclients C1 C2\nC2 acquire => ok\nC2 release => ok\nC1 acquire hold reply of first write => held-up\n"
	verdict := playUntil(t.Context(), t, spec, script+"C1 crash\nC2 acquire within 3 leases => no").Verdict
	assert.Equal(t, checker.Undecided, verdict.Kind, verdict)
	assert.Contains(t, verdict.Reason, "learned whether it was free")
	verdict = playUntil(t.Context(), t, spec, script+"C1 continue => ok\nC1 crash\nC2 acquire within 3 leases => ok").Verdict
	assert.Equal(t, checker.Safe, verdict.Kind, verdict)
}
