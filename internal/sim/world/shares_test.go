package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// spread is a lock on several servers, more or less wrong.
type spread struct {
	env                                           impls.Env
	key, value                                    string
	overwrites, deletes, lengthens, keeps, denies bool
	need                                          int
}

func (l *spread) TryAcquire(ctx context.Context) (bool, error) {
	got := 0
	l.value = l.env.Token()
	words := []any{"SET", l.key, l.value, "PX", 2000}
	if !l.overwrites {
		words = append(words, "NX")
	}
	for _, s := range l.env.Servers() {
		if reply, err := s.Do(ctx, words...); err == nil && reply == "OK" {
			got++
		} else if l.lengthens {
			_, _ = s.Do(ctx, "PEXPIRE", l.key, 3000)
		}
	}
	if got >= l.need {
		return true, nil
	}
	if !l.keeps {
		_, _ = l.Release(ctx)
	}
	return false, nil
}

const ours = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

func (l *spread) Release(ctx context.Context) (bool, error) {
	freed := 0
	for i, s := range l.env.Servers() {
		var n any
		switch {
		case l.denies && i > 0: // it leaves its lock in place
		case l.deletes:
			n, _ = s.Do(ctx, "DEL", l.key)
		default:
			n, _ = s.Eval(ctx, &impls.Script{Source: ours}, []string{l.key}, l.value)
		}
		if n == int64(1) {
			freed++
		}
	}
	return freed >= l.need, nil
}

// What the checker sees of a lock on several servers has looked wrong before, whatever is wrong with the lock.
func TestSharesSuspectNoLessThanThereIs(t *testing.T) {
	t.Parallel()
	seen := map[checker.Name]int{}
	for seed := range uint64(needs.Count(t, "random paths", 20, 1_000)) {
		dice := rand.New(rand.NewPCG(seed, 9))
		chance := func() bool { return dice.IntN(3) == 0 }
		made := spread{overwrites: chance(), deletes: chance(), lengthens: chance(), keeps: chance(), denies: chance(), need: 2 + dice.IntN(2)}
		spec := impls.Spec{Card: impls.Card{Name: "spread", Needs: impls.MostServers, Servers: 3, Contract: history.Contract{}}, New: func(env impls.Env, opts impls.Options) impls.Lock {
			l := made
			l.env, l.key = env, opts.Key
			return &l
		}}
		if made.need == 3 {
			spec.Needs = impls.EveryServer
		}
		verdict := agree(t, Config{
			Lock: spec, Clients: 2 + dice.IntN(2), Rounds: 2, Tries: 2, Servers: 3, Lease: 2 * time.Second, Skew: 10 * time.Second, Most: dice.IntN(3), Lag: 2,
			Budget: map[faults.Kind]int{
				faults.Pause: 2, faults.LongHold: 2, faults.Crash: 2, faults.ReplyLost: 2, faults.LateRequest: 2, faults.Duplicate: 2,
				faults.Restart: 2, faults.FailOver: 2, faults.ClockJump: 2,
			},
			Grid: time.Second / 2, Horizon: 5 * time.Second, ReleaseAgain: chance(),
		}, dice, fmt.Sprintf("seed %d, %+v", seed, made))
		for _, name := range verdict.Names() {
			seen[name]++
		}
	}
	require.Contains(t, seen, checker.WrongfulDelete)
	t.Log(seen)
}
