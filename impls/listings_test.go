package impls_test

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
)

// constructs are what each listing must have a row about.
var constructs = []string{"catch", "void", "default", "static", "field", "thread-local"}

// TestListings holds the published locks against the reviewed table of what their listings catch, drop, default to and share.
func TestListings(t *testing.T) {
	about, used := map[string][]string{}, map[string]bool{}
	var listings []string
	for _, row := range listingRows(t) {
		listing, construct, lock, check := row[0], row[1], strings.Trim(row[3], "`"), row[4]
		if !slices.Contains(listings, listing) {
			listings = append(listings, listing)
		}
		assert.Contains(t, constructs, construct)
		about[listing] = append(about[listing], construct)
		if lock == "–" {
			assert.NotContains(t, listingChecks, check, "why there is no counterpart")
			continue
		}
		used[check] = true
		t.Run(listing+", "+construct+": "+check, func(t *testing.T) {
			require.Contains(t, listingChecks, check)
			listingChecks[check](t, lock)
		})
	}
	assert.Equal(t, []string{"000 v1", "000 v2", "001", "002", "003 Redisson", "003 Curator", "004 first", "004 second"}, listings)
	for _, listing := range listings {
		assert.Subset(t, about[listing], constructs, listing)
	}
	for check := range listingChecks {
		assert.True(t, used[check], "no row has the check %q", check)
	}
}

func listingRows(t *testing.T) (rows [][]string) {
	text, err := os.ReadFile("../docs/tables/listings.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.Trim(line, "|\n"), " | "); len(cells) == 5 && strings.HasPrefix(line, "| 00") {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

// listingChecks exercise a lock, by its name.
var listingChecks = map[string]func(t *testing.T, lock string){
	"v1 throws": func(t *testing.T, name string) {
		expect(t, name, "acquire unknown", exchange{want: "SETNX k " + mine(1, 0), err: errLost})
		expect(t, name, "acquire unknown", exchange{reply: zero}, exchange{want: "GET k", err: errLost})
		expect(t, name, "acquire ok, release unknown", exchange{reply: one}, exchange{want: "GET k", err: errLost})
	},
	"v1 release is void": func(t *testing.T, name string) {
		expect(t, name, "release ok")
		expect(t, name, "acquire ok, release ok", exchange{reply: one}, exchange{want: "GET k"})
		expect(t, name, "acquire ok, release ok", exchange{reply: one}, exchange{want: "GET k", reply: mine(7, 0)})
	},
	"v1 drops the retry": func(t *testing.T, name string) {
		expect(t, name, "acquire no, release ok",
			exchange{reply: zero}, exchange{want: "GET k"}, exchange{reply: one}, exchange{want: "GET k", reply: mine(2, 0)}, exchange{want: "DEL k", reply: one})
	},
	"v1 default lease": func(t *testing.T, name string) {
		spec, _ := impls.Find(name)
		env := newFake(t, exchange{want: `SETNX k {"expires":3147483,"token":"t1"}`, reply: one})
		_, err := spec.New(env, impls.Options{Key: "k", Lease: math.MaxInt32 * time.Millisecond}).TryAcquire(t.Context())
		require.NoError(t, err) // 2,147,483 ms, 35.8 minutes, after the start of 1,000,000
	},
	"v1 spins": func(t *testing.T, name string) {
		l := lock(t, name, newFake(t)).(impls.Paced)
		assert.Equal(t, []time.Duration{impls.NoPause, 0}, []time.Duration{l.Pause(3*time.Second - 1), l.Pause(3 * time.Second)})
	},
	"v1 equal stamps": func(t *testing.T, name string) {
		other := exchange{want: "GET k", reply: `{"expires":3600000}`} // another client wrote it, at the same time
		expect(t, name, "acquire ok, release ok", exchange{reply: one}, other, exchange{want: "DEL k", reply: one})
	},
	"v1 token": func(t *testing.T, name string) {
		assert.Equal(t, []bool{true, true, false, false}, overwritten(t, name), "by object and thread")
		expect(t, name, "acquire ok, release unknown, release ok", exchange{reply: one}, exchange{want: "GET k", reply: mine(1, 0)}, exchange{want: "DEL k", err: errLost})
		expect(t, name, "acquire ok, acquire no, release ok",
			exchange{reply: one}, exchange{reply: zero}, exchange{reply: mine(1, 0)}, exchange{want: "GET k", reply: mine(1, 0)}, exchange{want: "DEL k", reply: one})
	},

	"v2 throws": func(t *testing.T, name string) {
		expect(t, name, "acquire unknown, release no", exchange{err: errLost})
		expect(t, name, "acquire ok, release unknown, release ok", exchange{reply: "OK"}, exchange{err: errLost}, exchange{want: "EVAL delete k t1", reply: one})
	},
	"v2 answers": func(t *testing.T, name string) {
		expect(t, name, "acquire no, acquire ok, release no, release ok", exchange{}, exchange{reply: "OK"}, exchange{reply: zero}, exchange{reply: one})
	},
	"v2 default lease": func(t *testing.T, name string) {
		expect(t, name, "acquire ok", exchange{want: "SET k t1 NX PX 2147483647", reply: "OK"})
	},
	"v2 default release": func(t *testing.T, name string) {
		env := &sleeper{fake: newFake(t, exchange{reply: "OK"}, exchange{reply: zero}, exchange{reply: zero})}
		env.asleep = func(time.Duration) { env.by = (1<<31 - 1) * time.Millisecond }
		l := lock(t, name, env)
		assert.Equal(t, "ok no", outcomes(t, l, "acquire", "release"))
		assert.Len(t, env.sent, 2, "its time is over after the first sleep")
	},
	"v2 sleeps": func(t *testing.T, name string) {
		env := &sleeper{fake: newFake(t, exchange{reply: "OK"}, exchange{reply: zero}, exchange{reply: one})}
		var slept []time.Duration
		env.asleep = func(d time.Duration) { slept = append(slept, d) }
		l := lock(t, name, env)
		assert.Equal(t, "ok ok", outcomes(t, l, "acquire", "release"))
		assert.Equal(t, append(slept, 200*time.Millisecond), []time.Duration{200 * time.Millisecond, l.(impls.Paced).Pause(0)})
	},
	"v2 monitor": func(t *testing.T, name string) {
		for object, want := range map[string]bool{"a": true, "b": false} {
			env := &sleeper{fake: newFake(t, exchange{reply: "OK"}, exchange{reply: one})}
			holder, first, second := lock(t, name, env), lock(t, name, user{env, "a", "2"}), lock(t, name, user{env, object, "3"})
			assert.Equal(t, "ok", outcomes(t, holder, "acquire"))
			require.NoError(t, first.(impls.Patient).Enter(t.Context()))
			require.NoError(t, second.(impls.Patient).Enter(t.Context()))
			barred := false
			env.asleep = func(time.Duration) { // the holder waits for a connection, inside the monitor
				ctx, cancel := context.WithCancel(t.Context())
				env.asleep = func(time.Duration) { barred = true; cancel() }
				assert.NoError(t, second.(impls.Patient).Leave(ctx, false))
			}
			assert.Equal(t, "ok", outcomes(t, holder, "release"))
			assert.Equal(t, want, barred, "a thread with object %s cannot return its connection", object)
		}
	},
	"v2 token": func(t *testing.T, name string) {
		assert.Equal(t, []bool{false, false, false, false}, overwritten(t, name), "an object has one key")
		expect(t, name, "release no")
		expect(t, name, "acquire ok, release no, release ok, release no", exchange{reply: "OK"}, exchange{reply: zero}, exchange{want: "EVAL delete k t1", reply: one})
	},

	"001 release catches": func(t *testing.T, name string) {
		expect(t, name, "acquire ok, release no", exchange{reply: "OK"}, exchange{want: "EVAL delete k t1", err: errLost})
	},
	"001 answers": func(t *testing.T, name string) {
		expect(t, name, "acquire no, acquire ok, release no, release ok", exchange{}, exchange{reply: "OK"}, exchange{reply: zero}, exchange{reply: one})
	},
	"001 polls": func(t *testing.T, name string) {
		env := newFake(t, exchange{})
		l := lock(t, name, env)
		assert.Equal(t, "no", outcomes(t, l, "acquire"))
		assert.Equal(t, start, env.clock, "one try, without a pause")
		assert.Equal(t, 50*time.Millisecond, l.(impls.Paced).Pause(0))
	},
	"001 shares nothing": sharesNothing,

	"002 watchdog not started": func(t *testing.T, name string) {
		assert.Nil(t, expect(t, name, "acquire ok", exchange{reply: "OK"}).task)
	},
	"002 SET fails": func(t *testing.T, name string) {
		expect(t, name, "acquire no", exchange{want: "SET k t1 NX PX 900", err: errLost}, exchange{want: "SET k t2 NX PX 900"}, exchange{err: errLost}, exchange{err: errRefused})
		expect(t, name, "acquire ok", exchange{err: errLost}, exchange{want: "SET k t2 NX PX 900", reply: "OK"})
	},
	"002 release fails": func(t *testing.T, name string) {
		env := expect(t, name, "acquire ok, release no", exchange{reply: "OK"}, exchange{err: errLost})
		assert.Equal(t, 2, renewals(t, env), "the flag stays set")
		env = expect(t, name, "acquire ok, release ok", exchange{reply: "OK"}, exchange{reply: one})
		assert.Equal(t, 0, renewals(t, env), "the flag is cleared")
	},
	"002 renewal fails": func(t *testing.T, name string) {
		env := expect(t, name, "acquire ok", exchange{reply: "OK"})
		env.exchanges = []exchange{{err: errLost}, {reply: one}}
		env.background()
		assert.Len(t, env.exchanges, 1)
		assert.Empty(t, env.said, "nobody is told")
	},
	"002 renewal is void": func(t *testing.T, name string) {
		env := expect(t, name, "acquire ok", exchange{reply: "OK"})
		env.exchanges = []exchange{{want: "PEXPIRE k 900", reply: zero}, {want: "PEXPIRE k 900", reply: zero}}
		env.background()
		assert.Empty(t, env.exchanges)
	},
	"002 retries": func(t *testing.T, name string) {
		expect(t, name, "acquire no, acquire no", make([]exchange, 4+1)...)
	},
	"002 sleeps": func(t *testing.T, name string) {
		env := expect(t, name, "acquire ok", exchange{reply: "OK"})
		var at []time.Duration
		note := exchange{reply: one, meanwhile: func() { at = append(at, env.clock.Sub(start)) }}
		env.exchanges = []exchange{note, note}
		env.background()
		require.Len(t, at, 2)
		assert.Greater(t, at[1]-at[0], 900*time.Millisecond, "the lease ends meanwhile")
	},
	"002 monitor": func(t *testing.T, name string) {
		env := newFake(t, exchange{reply: "OK"}, exchange{reply: "OK"})
		assert.Equal(t, "ok", outcomes(t, lock(t, name, env), "acquire"))
		first := env.task
		assert.Equal(t, "ok", outcomes(t, on(t, name, "k2", user{env, "b", "2"}), "acquire"))
		second := env.task
		ctx, cancel := context.WithCancel(t.Context())
		env.exchanges = []exchange{{reply: one, meanwhile: func() {
			cancel()
			sent := len(env.sent)
			second(ctx) // its renewal is due, too
			assert.Len(t, env.sent, sent, "two watchdogs renew at a time")
		}}}
		first(ctx)
	},
	"002 flag": func(t *testing.T, name string) {
		for who, stops := range map[[2]string]bool{{"a", "1"}: true, {"a", "2"}: true, {"b", "1"}: false, {"b", "2"}: false} {
			env := newFake(t, exchange{reply: "OK"}, exchange{reply: "OK"}, exchange{reply: one})
			assert.Equal(t, "ok", outcomes(t, lock(t, name, env), "acquire"))
			dog := env.task
			assert.Equal(t, "ok ok", outcomes(t, on(t, name, "k2", user{env, who[0], who[1]}), "acquire", "release"))
			env.task = dog
			assert.Equal(t, stops, renewals(t, env) == 0, "release by %v", who)
		}
	},
	"002 token": func(t *testing.T, name string) {
		assert.Equal(t, []bool{true, false, false, false}, overwritten(t, name), "by object and thread")
		expect(t, name, "acquire ok, acquire no, release no",
			exchange{reply: "OK"}, exchange{}, exchange{}, exchange{}, exchange{}, exchange{want: "EVAL delete k t5", reply: zero})
	},

	"redisson renewal fails": func(t *testing.T, name string) {
		env := expect(t, name, "acquire ok", exchange{})
		env.exchanges = []exchange{{err: errLost}, {reply: one}}
		env.background()
		assert.Len(t, env.exchanges, 1)
		assert.Empty(t, env.said, "it is only logged")
	},
	"redisson cancel is void": func(t *testing.T, name string) {
		env := newFake(t, exchange{})
		l := lock(t, name, env)
		assert.Equal(t, "ok", outcomes(t, l, "acquire"))
		renewal := env.task
		env.exchanges = []exchange{{want: "EVAL expire counted k 900 t1:1", reply: one, meanwhile: func() {
			env.task, env.exchanges = nil, []exchange{{reply: one}}
			assert.Equal(t, "ok", outcomes(t, l, "release"))
			env.task = renewal
		}}}
		env.background()
		env.task, env.exchanges = nil, []exchange{{}}
		assert.Equal(t, "ok", outcomes(t, lock(t, name, user{env, "a", "2"}), "acquire"))
		assert.Nil(t, env.task, "the entry of the first thread is there again")
	},
	"redisson default lease": func(t *testing.T, name string) {
		assert.Nil(t, expect(t, name, "acquire ok", exchange{}).task, "a lease that is named is not renewed")
		env := expect(t, "redisson-published", "acquire ok", exchange{})
		env.exchanges = []exchange{{meanwhile: func() { assert.Equal(t, 300*time.Millisecond, env.clock.Sub(start)) }}}
		env.background()
		assert.Empty(t, env.exchanges)
	},
	"redisson entries": func(t *testing.T, name string) {
		for _, who := range [][2]string{{"a", "2"}, {"b", "2"}, {"b", "1"}} {
			env := newFake(t, exchange{}, exchange{})
			assert.Equal(t, "ok", outcomes(t, lock(t, name, env), "acquire"))
			env.task = nil
			assert.Equal(t, "ok", outcomes(t, lock(t, name, user{env, who[0], who[1]}), "acquire"))
			assert.Nil(t, env.task, "%v finds the entry, whosever it is", who)
		}
	},
	"redisson lease": func(t *testing.T, name string) {
		for object, lease := range map[string]string{"a": "225", "b": "900"} {
			env := newFake(t, exchange{want: "EVAL count in k 900 t1:1"}, exchange{want: "EVAL count in k 225 t1:1"})
			outer := lock(t, name, env)
			assert.Equal(t, "ok ok", outcomes(t, outer, "acquire", "acquire"))
			env.exchanges, env.task = []exchange{{want: "EVAL count out k k:channel " + lease + " t1:2"}}, nil
			other := lock(t, name, user{env, object, "2"})
			if object == "b" { // has a field of its own
				env.exchanges = append([]exchange{{want: "EVAL count in k 900 t1:2", reply: int64(1)}}, env.exchanges...)
				assert.Equal(t, "no", outcomes(t, other, "acquire"))
			}
			assert.Equal(t, "no", outcomes(t, other, "release"))
		}
	},
	"redisson threads": func(t *testing.T, name string) {
		for who, field := range map[[2]string]string{{"a", "1"}: "t1:1", {"b", "1"}: "t1:1", {"a", "2"}: "t1:2", {"b", "2"}: "t1:2"} {
			env := newFake(t, exchange{want: "EVAL count in k 900 t1:1"}, exchange{want: "EVAL count in k 900 " + field})
			assert.Equal(t, "ok", outcomes(t, lock(t, name, env), "acquire"))
			assert.Equal(t, "ok", outcomes(t, lock(t, name, user{env, who[0], who[1]}), "acquire"))
		}
	},

	"curator deletes its node": func(t *testing.T, name string) {
		created := exchange{reply: "k/n-0000000004"}
		expect(t, name, "acquire unknown", created, exchange{want: "CHILDREN k", err: errLost}, exchange{want: "DELETE k/n-0000000004"})
		env := newFake(t, created, exchange{want: "CHILDREN k", reply: []string{"n-0000000003", "n-0000000004"}},
			exchange{want: "WATCH k/n-0000000003", reply: true}, exchange{want: "DELETE k/n-0000000004"})
		l := lock(t, name, env)
		require.NoError(t, l.(impls.Patient).Enter(t.Context()))
		assert.Equal(t, "no", outcomes(t, l, "acquire"))
		require.NoError(t, l.(impls.Patient).Leave(t.Context(), false))
		assert.Empty(t, env.exchanges)
	},
	"curator release": func(t *testing.T, name string) { expect(t, name, "release no") },
	"curator threads": func(t *testing.T, name string) {
		created, alone := exchange{reply: "k/n-0000000004"}, exchange{want: "CHILDREN k", reply: []string{"n-0000000004"}}
		env := expect(t, name, "acquire ok, acquire ok", created, alone)
		assert.Empty(t, env.shared)
		env.exchanges = []exchange{{reply: "k/n-0000000005"}, {want: "CHILDREN k", reply: []string{"n-0000000004", "n-0000000005"}}, {want: "DELETE k/n-0000000005"}}
		assert.Equal(t, "no", outcomes(t, lock(t, name, user{env, "a", "2"}), "acquire"), "the count is another thread's")
	},

	"004 throws": func(t *testing.T, name string) {
		expect(t, name, "acquire unknown", exchange{want: "SETNX k t1", err: errLost})
		expect(t, name, "acquire ok, release unknown", exchange{reply: one}, exchange{want: "WATCH k"}, exchange{want: "GET k", err: errLost})
	},
	"004 EXEC aborted": func(t *testing.T, name string) {
		expect(t, name, "acquire ok, release ok", exchange{reply: one}, exchange{want: "WATCH k"}, exchange{want: "GET k", reply: "t1"}, exchange{want: "EXEC DEL k"})
	},
	"004 spins": func(t *testing.T, name string) {
		l := lock(t, name, newFake(t))
		assert.Equal(t, impls.NoPause, l.(impls.Paced).Pause(9*time.Second))
		assert.True(t, l.(impls.SelfTimed).WaitedEnough(start.Add(-10*time.Second), 10*time.Second))
	},
	"004 shares nothing": sharesNothing,
	"004 EXPIRE fails": func(t *testing.T, name string) {
		expect(t, name, "acquire unknown", exchange{reply: one}, exchange{want: "EXPIRE k 900", err: errLost})
	},
	"004 EXPIRE is void": func(t *testing.T, name string) {
		expect(t, name, "acquire ok, acquire no",
			exchange{reply: one}, exchange{want: "EXPIRE k 900", reply: zero}, exchange{reply: zero}, exchange{want: "TTL k", reply: int64(-1)}, exchange{want: "EXPIRE k 900", reply: zero})
	},
	"004 default lease": func(t *testing.T, name string) {
		spec, _ := impls.Find(name)
		env := newFake(t, exchange{reply: one}, exchange{want: "EXPIRE k 20000", reply: one}) // 5 h 33 min
		assert.Equal(t, "ok", outcomes(t, spec.New(env, impls.Options{Key: "k", Lease: 20 * time.Second}), "acquire"))
	},
}

// sharesNothing: two keys, locked by one thread with one object, leave nothing in common.
func sharesNothing(t *testing.T, name string) {
	grant, _ := onTheWire(name)
	env := newFake(t, append(slices.Clone(grant), grant...)...)
	assert.Equal(t, "ok", outcomes(t, on(t, name, "k", env), "acquire"))
	assert.Equal(t, "ok", outcomes(t, on(t, name, "k2", env), "acquire"))
	assert.Empty(t, env.shared)
	assert.Equal(t, []bool{false, false, false, false}, overwritten(t, name))
}

// expect has the lock do what story says, and compares how it goes and what it sends: "acquire ok, release no".
func expect(t *testing.T, name, story string, exchanges ...exchange) *fake {
	t.Helper()
	env := newFake(t, exchanges...)
	var ops, want []string
	for step := range strings.SplitSeq(story, ", ") {
		op, outcome, _ := strings.Cut(step, " ")
		ops, want = append(ops, op), append(want, outcome)
	}
	assert.Equal(t, strings.Join(want, " "), outcomes(t, lock(t, name, env), ops...), story)
	assert.Empty(t, env.exchanges, "requests that were not sent: %s", story)
	assert.Len(t, env.sent, len(exchanges), "requests that were not expected: %q", env.sent)
	return env
}

func outcomes(t *testing.T, l impls.Lock, ops ...string) string {
	var got []string
	for _, op := range ops {
		do := map[string]func(context.Context) (bool, error){"acquire": l.TryAcquire, "release": l.Release}[op]
		got = append(got, impls.Outcome(do(t.Context())).String())
	}
	return strings.Join(got, " ")
}

// renewals counts what the background task sends, two at most.
func renewals(t *testing.T, env *fake) int {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	env.exchanges = []exchange{{}, {meanwhile: cancel}}
	env.task(ctx)
	return 2 - len(env.exchanges)
}

// overwritten says whose acquire of a second key makes the release of the first one miss its token: by object a or b, and thread 1 or 2.
func overwritten(t *testing.T, name string) (by []bool) {
	for _, who := range [][2]string{{"a", "1"}, {"b", "1"}, {"a", "2"}, {"b", "2"}} {
		grant, removal := onTheWire(name)
		env := newFake(t, append(slices.Clone(grant), grant...)...)
		first, second := on(t, name, "k", env), on(t, name, "k2", user{env, who[0], who[1]})
		assert.Equal(t, "ok", outcomes(t, first, "acquire"))
		assert.Equal(t, "ok", outcomes(t, second, "acquire"))
		env.exchanges = removal
		_, _ = first.Release(t.Context()) // what it sends counts
		by = append(by, !slices.Contains([]string{"DEL k", "EVAL delete k t1", "EXEC DEL k"}, env.sent[len(env.sent)-1]))
	}
	return by
}

// onTheWire is what grants a lock, and what its release gets to see if the first token has been kept.
func onTheWire(name string) (grant, removal []exchange) {
	switch {
	case strings.HasPrefix(name, "getset"):
		return []exchange{{reply: one}}, []exchange{{reply: mine(1, 0)}, {reply: one}}
	case strings.HasPrefix(name, "setnx-expire"):
		return []exchange{{reply: one}, {reply: one}}, []exchange{{}, {reply: "t1"}, {reply: []any{one}}}
	case strings.HasPrefix(name, "setnx"):
		return []exchange{{reply: one}}, []exchange{{}, {reply: "t1"}, {reply: []any{one}}}
	}
	return []exchange{{reply: "OK"}}, []exchange{{reply: one}}
}
