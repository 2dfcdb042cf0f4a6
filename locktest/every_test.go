package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/locktest"
)

// plain is a sound lock that is written for impls.Env. Those below do what ordinary code does beside.
type plain struct {
	env   impls.Env
	key   string
	lease time.Duration
	token string
	count int // of tries
}

func (l *plain) TryAcquire(ctx context.Context) (bool, error) {
	l.token = l.env.Token()
	reply, err := l.env.Server().Do(ctx, "SET", l.key, l.token, "NX", "PX", l.lease.Milliseconds())
	return reply == "OK", err
}

var (
	release = &impls.Script{Source: `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`}
	again   = &impls.Script{Source: `if redis.call("GET", KEYS[1]) == ARGV[1] or redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`}
	prolong = &impls.Script{Source: `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`}
)

func (l *plain) Release(ctx context.Context) (bool, error) {
	n, err := l.env.Server().Eval(ctx, release, []string{l.key}, l.token)
	return n == int64(1), err
}

// tries tries three times, with a pause before each further time.
func (l *plain) tries(ctx context.Context, pause func(n int)) (bool, error) {
	for n := range 3 {
		if n > 0 {
			pause(n)
		}
		if ok, err := l.TryAcquire(ctx); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// made is a lock of functions around a plain one; nil: those of the plain one.
type made struct {
	*plain
	acquire, release func(context.Context) (bool, error)
}

func (m made) TryAcquire(ctx context.Context) (bool, error) {
	if m.acquire != nil {
		return m.acquire(ctx)
	}
	return m.plain.TryAcquire(ctx)
}

func (m made) Release(ctx context.Context) (bool, error) {
	if m.release != nil {
		return m.release(ctx)
	}
	return m.plain.Release(ctx)
}

// holding has something go on while the lock is held.
func holding(l *plain, during func(hold context.Context)) made {
	var end context.CancelFunc
	return made{
		plain: l,
		acquire: func(ctx context.Context) (bool, error) {
			ok, err := l.TryAcquire(ctx)
			if ok {
				var hold context.Context
				hold, end = context.WithCancel(context.Background())
				go during(hold)
			}
			return ok, err
		},
		release: func(ctx context.Context) (bool, error) {
			end()
			return l.Release(ctx)
		},
	}
}

// renew prolongs the lease now and then, and says when it was lost.
func (l *plain) renew(hold context.Context, mu sync.Locker) {
	ticks := time.NewTicker(l.lease / 3)
	defer ticks.Stop()
	for {
		select {
		case <-hold.Done():
			return
		case <-ticks.C:
		}
		mu.Lock()
		token := l.token
		mu.Unlock()
		n, err := l.env.Server().Eval(hold, prolong, []string{l.key}, token, l.lease.Milliseconds())
		if err == nil && n != int64(1) && hold.Err() == nil {
			l.env.Lost("it was not renewed")
			return
		}
	}
}

var tried atomic.Int64

// ordinary are sound locks whose state nobody could name.
var ordinary = map[string]func(*plain) impls.Lock{
	"fixed back-off": func(l *plain) impls.Lock {
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			return l.tries(ctx, func(int) { time.Sleep(10 * time.Millisecond) })
		}}
	},
	"jitter": func(l *plain) impls.Lock {
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			return l.tries(ctx, func(int) { time.Sleep(time.Duration(1+rand.Intn(20)) * time.Millisecond) })
		}}
	},
	"watchdog with a mutex": func(l *plain) impls.Lock {
		var mu sync.Mutex
		m := holding(l, func(hold context.Context) { l.renew(hold, &mu) })
		try := m.acquire
		m.acquire = func(ctx context.Context) (bool, error) {
			mu.Lock()
			l.count++
			mu.Unlock()
			return try(ctx)
		}
		return m
	},
	"time-out of Env, with retries": func(l *plain) impls.Lock {
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			l.token = l.env.Token()
			for {
				short, cancel := l.env.WithTimeout(ctx, l.lease/4)
				n, err := l.env.Server().Eval(short, again, []string{l.key}, l.token, l.lease.Milliseconds())
				cancel()
				if err == nil || ctx.Err() != nil || !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
					return n == int64(1), err
				}
			}
		}}
	},
	"goroutine with a ticker": func(l *plain) impls.Lock {
		return holding(l, func(hold context.Context) { l.renew(hold, &sync.Mutex{}) })
	},
	"time.AfterFunc": func(l *plain) impls.Lock {
		return holding(l, func(hold context.Context) {
			over := time.AfterFunc(l.lease, func() { l.env.Lost("its lease is over") })
			context.AfterFunc(hold, func() { over.Stop() })
		})
	},
	"context.WithTimeout": func(l *plain) impls.Lock {
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			short, cancel := context.WithTimeout(ctx, l.lease/4)
			defer cancel()
			return l.TryAcquire(short)
		}}
	},
	"jitter, time.AfterFunc and context.WithTimeout": func(l *plain) impls.Lock {
		m := holding(l, func(hold context.Context) {
			over := time.AfterFunc(l.lease, func() { l.env.Lost("its lease is over") })
			context.AfterFunc(hold, func() { over.Stop() })
		})
		once := m.acquire
		m.acquire = func(ctx context.Context) (ok bool, err error) {
			short, cancel := context.WithTimeout(ctx, l.lease/4)
			defer cancel()
			for n := 0; n < 3 && !ok && err == nil; n++ {
				time.Sleep(time.Duration(rand.Intn(20)) * time.Millisecond)
				ok, err = once(short)
			}
			return ok, err
		}
		return m
	},
	"sync.Map": func(l *plain) impls.Lock {
		var tokens sync.Map
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			ok, err := l.TryAcquire(ctx)
			tokens.Store(l.key, l.token)
			return ok, err
		}, release: func(ctx context.Context) (bool, error) {
			ok, err := l.Release(ctx)
			if err == nil {
				tokens.Delete(l.key)
			}
			return ok, err
		}}
	},
	"slog and atomic counters": func(l *plain) impls.Lock {
		log := slog.New(slog.DiscardHandler)
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			ok, err := l.TryAcquire(ctx)
			log.Info("tried", "time", tried.Add(1), "ok", ok, "err", err)
			return ok, err
		}}
	},
	"a hook and a map of statistics": func(l *plain) impls.Lock {
		statistics := map[string]int{}
		hook := func(what string) { statistics[what]++ }
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			ok, err := l.TryAcquire(ctx)
			hook(fmt.Sprint(ok, errors.Is(err, context.Canceled)))
			return ok, err
		}}
	},
	"chan struct{}, twice": func(l *plain) impls.Lock {
		turn, held := make(chan struct{}, 1), make(chan struct{}, 1)
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			turn <- struct{}{}
			defer func() { <-turn }()
			ok, err := l.TryAcquire(ctx)
			if ok {
				select {
				case held <- struct{}{}:
				default:
				}
			}
			return ok, err
		}, release: func(ctx context.Context) (bool, error) {
			select {
			case <-held:
			default:
			}
			return l.Release(ctx)
		}}
	},
	"a counter of tries on the server": func(l *plain) impls.Lock {
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			if _, err := l.env.Server().Do(ctx, "INCR", l.key+":tries"); err != nil {
				return false, err
			}
			return l.TryAcquire(ctx)
		}}
	},
}

// limited declares its validity.
type limited struct {
	made
	valid func() time.Duration
}

func (l limited) Valid() time.Duration { return l.valid() }

type clock interface{ Now() time.Time }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

var (
	nowOfPackage         = time.Now
	clockOfPackage clock = systemClock{}
)

// fromReply is a lock whose validity begins when the reply has come, not when the request was sent: begin begins it.
func fromReply(l *plain, begin func() (valid func() time.Duration)) impls.Lock {
	var valid func() time.Duration
	return limited{made{plain: l, acquire: func(ctx context.Context) (bool, error) {
		ok, err := l.TryAcquire(ctx)
		if ok {
			valid = begin()
		}
		return ok, err
	}}, func() time.Duration { return valid() }}
}

// byNow counts by a clock.
func byNow(now func() time.Time) func(*plain) impls.Lock {
	return func(l *plain) impls.Lock {
		return fromReply(l, func() func() time.Duration {
			until := now().Add(l.lease)
			return func() time.Duration { return until.Sub(now()) }
		})
	}
}

// clocks are broken locks: each reads a clock, and not by the name of a function that does.
var clocks = map[string]func(*plain) impls.Lock{
	"a function that it keeps":  byNow(time.Now),
	"a clock that it keeps":     byNow(clock(systemClock{}).Now),
	"a function of its package": func(l *plain) impls.Lock { return byNow(func() time.Time { return nowOfPackage() })(l) },
	"a clock of its package":    func(l *plain) impls.Lock { return byNow(func() time.Time { return clockOfPackage.Now() })(l) },
	"the deadline of a context": func(l *plain) impls.Lock {
		return fromReply(l, func() func() time.Duration {
			hold, cancel := context.WithTimeout(context.Background(), l.lease)
			context.AfterFunc(hold, cancel)
			until, _ := hold.Deadline()
			return func() time.Duration { return time.Until(until) }
		})
	},
	"time.AfterFunc": func(l *plain) impls.Lock {
		return fromReply(l, func() func() time.Duration {
			var over atomic.Bool
			time.AfterFunc(l.lease, func() { over.Store(true) })
			return whileNot(l.lease, over.Load)
		})
	},
	"the channel of a timer": func(l *plain) impls.Lock {
		return fromReply(l, func() func() time.Duration {
			timer := time.NewTimer(l.lease)
			return whileNot(l.lease, func() bool {
				select {
				case <-timer.C:
					return true
				default:
					return false
				}
			})
		})
	},
	"ticks that a goroutine counts": func(l *plain) impls.Lock {
		return fromReply(l, func() func() time.Duration {
			var left atomic.Int64
			left.Store(10)
			go func() {
				for left.Load() > 0 {
					time.Sleep(l.lease / 10)
					left.Add(-1)
				}
			}()
			return func() time.Duration { return time.Duration(left.Load()) * l.lease / 10 }
		})
	},
}

func whileNot(valid time.Duration, over func() bool) func() time.Duration {
	return func() time.Duration {
		if over() {
			return 0
		}
		return valid
	}
}

// specOf is such a lock with a card.
func specOf(name string, lock func(*plain) impls.Lock, promises ...impls.Promise) impls.Spec {
	return impls.Spec{
		Card: impls.Card{Name: name, Needs: impls.OneServer, Promises: append([]impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner, impls.CrashSafety}, promises...)},
		New: func(env impls.Env, opts impls.Options) impls.Lock {
			return lock(&plain{env: env, key: opts.Key, lease: opts.Lease})
		},
	}
}

// TestEveryOrdinary: locks that no model could follow get a verdict.
func TestEveryOrdinary(t *testing.T) {
	for name, lock := range ordinary {
		if name != "jitter" && !needs.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bounds := locktest.Every{Faults: needs.Count(t, "numbers of faults", 0, 1), For: 20 * time.Second}
			found := locktest.Explore(t, locktest.OfSpec(specOf("ordinary", lock)), locktest.Search{Seed: 1, Schedules: needs.Count(t, "schedules", 10, 30), Every: &bounds})
			require.NotEmpty(t, found.Every)
			assert.Empty(t, found.Findings)
			assert.True(t, found.Every[0].Complete, "without a fault: %s", found.Every[0])
		})
	}
}

// TestEveryClock: the search of any code finds a lock whose lease begins too late, by whatever clock it goes.
func TestEveryClock(t *testing.T) {
	for name, lock := range clocks {
		if name != "time.AfterFunc" && !needs.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			subject := locktest.OfSpec(specOf("late", lock, impls.ExclusionOnPause))
			search := locktest.Search{Seed: 1, Schedules: 1, Expect: []checker.Name{checker.DoubleHolder}, Every: &locktest.Every{Faults: 1}}
			found := locktest.Explore(t, subject, search)
			require.Len(t, found.Findings, 1)
			assert.Equal(t, "ends-with-lease", string(found.Findings[0].Cause[:len("ends-with-lease")]))
			if way := found.Findings[0].Schedule; way != "" {
				t.Setenv("LOCKTEST_SCHEDULE", way)
				assert.Equal(t, found.Findings, locktest.Explore(t, subject, search).Findings, "a schedule replays")
			}
		})
	}
}

// TestEveryThatDoesNotReplay: what chance decides that nobody controls is never called complete.
func TestEveryThatDoesNotReplay(t *testing.T) {
	lock := func(l *plain) impls.Lock {
		return made{plain: l, acquire: func(ctx context.Context) (bool, error) {
			return l.tries(ctx, func(int) { time.Sleep(time.Duration(1+randv2.IntN(1e6)) * time.Microsecond) })
		}}
	}
	found := locktest.Explore(t, locktest.OfSpec(specOf("ordinary", lock)), locktest.Search{Seed: 1, Schedules: 1, Every: &locktest.Every{}})
	require.Len(t, found.Every, 1)
	assert.False(t, found.Every[0].Complete)
	assert.Contains(t, found.Every[0].Why, "schedules do not replay: ")
}
