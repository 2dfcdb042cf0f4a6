package explore

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// impatient takes the lock by force if it lives for a time between two others. It asks the server, and compares by itself or in a script.
type impatient struct {
	plain
	from, to time.Duration
	command  string
	unit     time.Duration
}

func (l *impatient) TryAcquire(ctx context.Context) (bool, error) {
	if l.command == "" {
		return l.byScript(ctx)
	}
	if taken, err := l.plain.TryAcquire(ctx); taken || err != nil {
		return taken, err
	}
	reply, err := l.env.Server().Do(ctx, l.command, learn.LockKey)
	n, _ := reply.(int64)
	if left := time.Duration(n) * l.unit; err != nil || left < l.from || left >= l.to {
		return false, err
	}
	return l.take(ctx, l.env.Token())
}

func (l *impatient) byScript(ctx context.Context) (bool, error) {
	const source = `local left = redis.call("PTTL", KEYS[1])
if left >= 0 and (left < tonumber(ARGV[3]) or left >= tonumber(ARGV[4])) then return 0 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`
	mine := l.env.Token()
	times := []any{l.lease.Milliseconds(), l.from.Milliseconds(), l.to.Milliseconds()}
	reply, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{learn.LockKey}, append([]any{mine}, times...)...)
	if reply == int64(1) {
		l.value = mine
	}
	return reply == int64(1), err
}

// How long a key lives is the server's time. A lock that asks for it does something else at other times, although it reads no clock.
func TestLocksThatAskHowLongAKeyLives(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command  string
		unit     time.Duration
		from, to time.Duration
		holds    bool
	}{
		"between two times":                {"PTTL", time.Millisecond, learn.Lease * 37 / 100, learn.Lease / 2, false},
		"between two times, in a script":   {"", 0, learn.Lease * 37 / 100, learn.Lease / 2, false},
		"at no second":                     {"TTL", time.Second, 0, learn.Lease / 3, false},
		"never, with a lease":              {"PTTL", time.Millisecond, 2 * learn.Lease, 3 * learn.Lease, true},
		"never, with a lease, in a script": {"", 0, 2 * learn.Lease, 3 * learn.Lease, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := stranger(func(p plain) impls.Lock { return &impatient{p, test.from, test.to, test.command, test.unit} })
			config := Config{Lock: spec, Clients: 2, Only: []checker.Name{checker.Overwrite}, Budget: spend(faults.Pause)}
			result, err := Explore(context.Background(), config.Usual())
			require.NoError(t, err)
			assert.Empty(t, result.Disputed)
			assert.True(t, result.Complete(), result.Limit)
			assert.Equal(t, test.holds, result.Found == nil)
		})
	}
}

// remembered counts refusals on the server, and takes the lock by force when there are too many.
type remembered struct {
	plain
	most int64
}

func (l *remembered) TryAcquire(ctx context.Context) (bool, error) {
	if taken, err := l.plain.TryAcquire(ctx); taken || err != nil {
		return taken, err
	}
	refused, err := l.env.Server().Do(ctx, "INCR", "refused")
	if err != nil || refused != l.most {
		return false, err
	}
	return l.take(ctx, l.env.Token())
}

// A try that is refused has changed a server, so the next one may come to something else.
func TestRefusalsThatAServerCounts(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{1, 2, 3, 9} {
		t.Run(strconv.FormatInt(most, 10), func(t *testing.T) {
			spec := stranger(func(p plain) impls.Lock { return &remembered{p, most} })
			config := Config{Lock: spec, Clients: 2, Only: []checker.Name{checker.Overwrite}, Budget: Budget{}, States: 100_000}
			result, err := Explore(context.Background(), config.Usual())
			require.NoError(t, err)
			assert.NotNil(t, result.Found)
		})
	}
}

// sleeper waits for as long as the lock lives, and then takes it by force. By then somebody else may have taken it again.
type sleeper struct{ plain }

func (l *sleeper) TryAcquire(ctx context.Context) (bool, error) {
	if taken, err := l.plain.TryAcquire(ctx); taken || err != nil {
		return taken, err
	}
	reply, err := l.env.Server().Do(ctx, "PTTL", learn.LockKey)
	left, _ := reply.(int64)
	if err != nil || left < 0 {
		return false, err
	}
	if err := l.env.Sleep(ctx, time.Duration(left)*time.Millisecond); err != nil {
		return false, err
	}
	return l.take(ctx, l.env.Token())
}

// While somebody sleeps in an operation, others come when they like, also where they find the lock free.
func TestOthersComeWhileSomebodySleeps(t *testing.T) {
	t.Parallel()
	spec := stranger(func(p plain) impls.Lock { return &sleeper{p} })
	config := Config{Lock: spec, Clients: 2, Rounds: 2, Only: []checker.Name{checker.Overwrite}, Budget: Budget{}}
	result, err := Explore(context.Background(), config.Usual())
	require.NoError(t, err)
	assert.NotNil(t, result.Found)
}

// A client whose last task ends by a step that comes first is as every other that has finished: a path to it is found again.
func TestFinishedClientsAreReset(t *testing.T) {
	t.Parallel()
	lock := stranger(script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok {
			mine := l.value
			l.env.Go(func(ctx context.Context) {
				for l.env.Sleep(ctx, l.lease/3) == nil {
					n, err := l.env.Server().Eval(ctx, &impls.Script{Source: compareAndExpire}, []string{learn.LockKey}, mine, l.lease.Milliseconds())
					if err == nil && n != int64(1) {
						return
					}
				}
			})
		}
		return ok, err
	}, nil))
	x := newExplorer(Config{Lock: lock, Clients: 2, Budget: Budget{}}.Usual(), traits{})
	defer x.automaton.Close()
	finishes := 0
	x.visited = func(f form) {
		var s state
		x.unpack(&s, &f)
		for i := range x.clients {
			if c := &s.clients[i]; c.phase == finished && x.automaton.Nodes[c.node].Tasks == 0 {
				finishes++
				assert.Less(t, c.node, uint32(x.clients))
			}
		}
	}
	require.NoError(t, x.search(t.Context()))
	assert.NotZero(t, finishes)
}
