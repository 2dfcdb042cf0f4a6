//go:build linux || darwin

package live_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// renewableLocks are locks with a token that their clients renew by hand. One does not compare the token then.
func renewableLocks() (specs []impls.Spec) {
	plain, _ := impls.Find("setpx-lua")
	for name, script := range map[string]string{
		"renewed": `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end return redis.call("PEXPIRE", KEYS[1], ARGV[2])`,
		"blind":   `return redis.call("PEXPIRE", KEYS[1], ARGV[2])`,
	} {
		spec := plain
		spec.Name, spec.Promises = name, append([]impls.Promise{impls.RenewByOwner}, plain.Promises...)
		spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
			return &renewableLock{env: env, opts: opts, renewal: script}
		}
		specs = append(specs, spec)
	}
	return specs
}

type renewableLock struct {
	env     impls.Env
	opts    impls.Options
	renewal string
	token   string
}

func (l *renewableLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	reply, err := l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds())
	if held := err == nil && reply != nil; held {
		l.token = token
		return true, nil
	}
	return false, err
}

func (l *renewableLock) Release(ctx context.Context) (bool, error) {
	return l.eval(ctx, `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end return redis.call("DEL", KEYS[1])`, l.token)
}

func (l *renewableLock) Renew(ctx context.Context) (bool, error) {
	return l.eval(ctx, l.renewal, l.token, l.opts.Lease.Milliseconds())
}

func (l *renewableLock) eval(ctx context.Context, script string, args ...any) (bool, error) {
	reply, err := l.env.Server().Eval(ctx, &impls.Script{Source: script}, []string{l.opts.Key}, args...)
	return err == nil && reply == int64(1), err
}

// TestStormsRenewByHand: clients renew a lock that they can renew. One that does not compare the token prolongs the lock of another client after a
// pause, and is caught.
func TestStormsRenewByHand(t *testing.T) {
	needs.Long(t, "storms of twelve seconds")
	for name, want := range map[string]checker.Name{"renewed": "", "blind": checker.WrongfulRenew} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStage(t, nil)
			spec, ok := impls.Lookup(renewableLocks(), name)
			require.True(t, ok)
			const lease = 500 * time.Millisecond
			plan := storm.New(storm.Params{Seed: 1, Clients: 4, For: 12 * time.Second, Lease: lease, Work: lease * 3 / 4})
			for at := lease; at < plan.For-2*lease; at += lease { // a client that has just got the lock is paused past its lease
				plan.Strikes = append(plan.Strikes, storm.Strike{At: at, For: lease * 3 / 2, Client: string(storm.Holder), Kind: faults.Pause})
			}
			cell := s.Run(t.Context(), lab.StormCase(play.SubjectOf(spec), plan, history.Counter, 1))
			require.Empty(t, cell.Failure)
			answers := map[history.Outcome]int{}
			for _, e := range s.history(t, cell) {
				if e.Kind == history.KindReturn && e.Op == history.OpRenew {
					answers[e.Outcome]++
				}
			}
			assert.Positive(t, answers[history.OK])
			if want == "" {
				assert.Positive(t, answers[history.No], "of a renewal after a pause")
				assert.Nil(t, cell.Storm.First, "%v", cell.Verdict)
				return
			}
			assert.True(t, slices.ContainsFunc(cell.Verdict.Anomalies, func(a checker.Anomaly) bool { return a.Name == want && a.Beyond == "" }), "%v", cell.Verdict)
		})
	}
}
