package impls_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

const (
	one  = int64(1)
	zero = int64(0)
)

var (
	errLost    = errors.New("connection reset")
	errRefused = impls.ServerError("OOM command not allowed")
)

func lock(t *testing.T, name string, env impls.Env) impls.Lock {
	t.Helper()
	spec, found := impls.Find(name)
	require.True(t, found)
	return spec.New(env, impls.Options{Key: "k", Lease: 900 * time.Millisecond})
}

// mine is the value that getset writes at the start, and later.
func mine(token int, after time.Duration) string {
	return fmt.Sprintf(`{"expires":%d,"token":"t%d"}`, start.Add(after+900*time.Millisecond).UnixMilli(), token)
}

func TestWhatLocksSend(t *testing.T) {
	ok, no, unknown := history.OK, history.No, history.Unknown
	set := exchange{want: "SET k t1 NX PX 900", reply: "OK"}

	tests := []struct {
		name      string
		lock      string
		acquire   history.Outcome // of the acquire
		release   history.Outcome // of the release that follows; none: there is none
		exchanges []exchange
	}{
		{"taken", "setnx-del", no, 0, []exchange{{want: "SETNX k 1000", reply: zero}}},
		{"turn", "setnx-del", ok, ok, []exchange{{want: "SETNX k 1000", reply: one}, {want: "DEL k", reply: one}}},
		{"reply lost", "setnx-del", unknown, 0, []exchange{{err: errLost}}},

		{"turn", "setpx-lua-wait", ok, ok, []exchange{set, {want: "WAIT 1 45", reply: one}, {want: "EVAL delete k t1", reply: one}}},
		{"taken", "setpx-lua-wait", no, 0, []exchange{set.answered(nil)}},
		{"nobody acknowledges", "setpx-lua-wait", no, 0, []exchange{set, {want: "WAIT 1 45", reply: zero}, {want: "EVAL delete k t1", reply: one}}},
		{"nobody acknowledges, nor is it taken back", "setpx-lua-wait", no, 0, []exchange{set, {want: "WAIT 1 45", reply: zero}, {want: "EVAL delete k t1", err: errLost}}},
		{"acknowledgement lost", "setpx-lua-wait", unknown, 0, []exchange{set, {want: "WAIT 1 45", err: errLost}, {want: "EVAL delete k t1", reply: one}}},
		{"reply lost", "setpx-lua-wait", unknown, 0, []exchange{{want: "SET k t1 NX PX 900", err: errLost}}},

		{"turn", "setpx-del", ok, ok, []exchange{{want: "SET k locked NX PX 900", reply: "OK"}, {want: "DEL k", reply: one}}},
		{"expired", "setpx-del", ok, no, []exchange{{reply: "OK"}, {want: "DEL k", reply: zero}}},
		{"refused", "setpx-del", no, 0, []exchange{{err: errRefused}}},

		{"turn", "setpx-getdel", ok, ok, []exchange{set, {want: "GET k", reply: "t1"}, {want: "DEL k", reply: one}}},
		{"another's", "setpx-getdel", ok, no, []exchange{set, {want: "GET k", reply: "t2"}}},
		{"expired", "setpx-getdel", ok, no, []exchange{set, {want: "GET k", reply: nil}}},
		{"expired between", "setpx-getdel", ok, no, []exchange{set, {reply: "t1"}, {want: "DEL k", reply: zero}}},

		{"turn", "setpx-lua", ok, ok, []exchange{set, {want: "EVAL delete k t1", reply: one}}},
		{"expired", "setpx-lua", ok, no, []exchange{set, {want: "EVAL delete k t1", reply: zero}}},
		{"token unsaved", "setpx-lua", unknown, no, []exchange{{err: errLost}, {want: "EVAL delete k ", reply: zero}}},

		{"turn", "getset", ok, ok, []exchange{
			{want: "SETNX k " + mine(1, 0), reply: one}, {want: "GET k", reply: mine(1, 0)}, {want: "DEL k", reply: one},
		}},
		{"live", "getset", no, 0, []exchange{{reply: zero}, {want: "GET k", reply: liveStamp}}},
		{"dead", "getset", ok, ok, []exchange{
			{reply: zero, takes: time.Second}, {want: "GET k", reply: deadStamp},
			{want: "GETSET k " + mine(2, time.Second), reply: deadStamp},
			{want: "GET k", reply: mine(2, time.Second)}, {want: "DEL k", reply: one},
		}},
		{"somebody was faster", "getset", no, 0, []exchange{{reply: zero}, {reply: deadStamp}, {reply: liveStamp}}},
		{"nil from GET", "getset", ok, 0, []exchange{{reply: zero}, {want: "GET k"}, {want: "SETNX k " + mine(2, 0), reply: one}}},
		{"nil from GETSET", "getset", ok, ok, []exchange{
			{reply: zero}, {reply: deadStamp}, {want: "GETSET k " + mine(2, 0)}, {reply: mine(2, 0)}, {want: "DEL k", reply: one},
		}},
		{"overwritten", "getset", ok, no, []exchange{{reply: one}, {want: "GET k", reply: liveStamp}}},
		{"no stamp", "getset", unknown, 0, []exchange{{reply: zero}, {reply: "1234"}}},

		{"turn", "setnx-expired-del", ok, ok, []exchange{{want: "SETNX k 1000000", reply: one}, {want: "DEL k", reply: one}}},
		{"live", "setnx-expired-del", no, 0, []exchange{{reply: zero}, {want: "GET k", reply: "999100"}}},
		{"dead", "setnx-expired-del", ok, 0, []exchange{
			{reply: zero}, {want: "GET k", reply: "999099"}, {want: "DEL k", reply: one}, {want: "SETNX k 1000000", reply: one},
		}},
		{"dead, deleted by another", "setnx-expired-del", no, 0, []exchange{
			{reply: zero}, {reply: "999099"}, {want: "DEL k", reply: zero}, {want: "SETNX k 1000000", reply: zero},
		}},
		{"gone", "setnx-expired-del", ok, 0, []exchange{{reply: zero}, {want: "GET k"}, {want: "SETNX k 1000000", reply: one}}},
		{"no stamp", "setnx-expired-del", unknown, 0, []exchange{{reply: zero}, {reply: "x"}}},
		{"not deleted", "setnx-expired-del", unknown, 0, []exchange{{reply: zero}, {reply: "999099"}, {err: errLost}}},

		{"nil from GET", "getset-nil-expired", ok, 0, []exchange{{reply: zero}, {want: "GET k"}, {want: "GETSET k " + mine(2, 0)}}},
		{"nil from GET, then a fresh lock", "getset-nil-expired", no, 0, []exchange{
			{reply: zero}, {want: "GET k"}, {want: "GETSET k " + mine(2, 0), reply: liveStamp},
		}},
		{"nil from GETSET", "getset-nil-lost", no, 0, []exchange{{reply: zero}, {reply: deadStamp}, {want: "GETSET k " + mine(2, 0)}}},

		{"turn", "getset-published", ok, ok, []exchange{
			{want: "SETNX k " + mine(1, 0), reply: one}, {want: "GET k", reply: mine(1, 0)}, {want: "DEL k", reply: one},
		}},
		{"a null pointer after the retry", "getset-published/lost-retry", no, ok, []exchange{
			{reply: zero}, {want: "GET k"}, {reply: one}, {want: "GET k", reply: mine(2, 0)}, {want: "DEL k", reply: one},
		}},
		{"equal stamps", "getset-published/equal-stamps", ok, ok, []exchange{
			{want: `SETNX k {"expires":3600000}`, reply: one}, {want: "GET k", reply: `{"expires":3600000}`}, {want: "DEL k", reply: one},
		}},
		{"the retry counts", "getset-published/local-check", ok, 0, []exchange{{reply: zero}, {want: "GET k"}, {reply: one}}},
		{"lease in ns", "getset-published/short-lease", ok, 0, []exchange{
			{want: `SETNX k {"expires":1000000,"token":"t1"}`, reply: one},
		}},
		{"dead, by the value of SETNX", "getset-published", ok, ok, []exchange{
			{reply: zero, takes: time.Second}, {want: "GET k", reply: deadStamp}, {want: "GETSET k " + mine(1, 0), reply: deadStamp},
			{want: "GET k", reply: mine(1, 0)}, {want: "DEL k", reply: one},
		}},
		{"dead, by a new value", "getset-published/local-check", ok, 0, []exchange{
			{reply: zero, takes: time.Second}, {want: "GET k", reply: deadStamp}, {want: "GETSET k " + mine(2, time.Second), reply: deadStamp},
		}},
		{"release lost", "getset-published", ok, unknown, []exchange{{reply: one}, {reply: mine(1, 0)}, {want: "DEL k", err: errLost}}},
		{"no result", "getset-published", ok, ok, []exchange{{reply: one}, {want: "GET k", reply: liveStamp}}},
		{"overwritten", "getset-published/local-check", ok, no, []exchange{{reply: one}, {want: "GET k", reply: liveStamp}}},

		{"turn", "setnx-watch", ok, ok, []exchange{
			{want: "SETNX k t1", reply: one}, {want: "WATCH k", reply: "OK"}, {want: "GET k", reply: "t1"},
			{want: "EXEC DEL k", reply: []any{one}},
		}},
		{"aborted, tried again", "setnx-watch", ok, no, []exchange{
			{reply: one}, {want: "WATCH k"}, {reply: "t1"}, {want: "EXEC DEL k"}, {want: "WATCH k"}, {want: "GET k", reply: "t2"},
		}},
		{"another's", "setnx-watch", ok, no, []exchange{{reply: one}, {want: "WATCH k"}, {want: "GET k"}}},
		{"EXEC lost", "setnx-watch", ok, unknown, []exchange{{reply: one}, {want: "WATCH k"}, {reply: "t1"}, {err: errLost}}},
		{"aborted", "setnx-watch-published", ok, ok, []exchange{{reply: one}, {want: "WATCH k"}, {reply: "t1"}, {want: "EXEC DEL k"}}},

		{"turn", "setnx-expire", ok, ok, []exchange{
			{want: "SETNX k t1", reply: one}, {want: "EXPIRE k 1", reply: one}, {want: "WATCH k"}, {want: "GET k", reply: "t1"},
			{want: "EXEC DEL k", reply: []any{one}},
		}},
		{"late", "setnx-expire", ok, 0, []exchange{{reply: one}, {want: "EXPIRE k 1", reply: zero}}},
		{"refused", "setnx-expire", no, 0, []exchange{{reply: zero}, {want: "TTL k", reply: int64(7)}}},
		{"repaired", "setnx-expire", no, 0, []exchange{{reply: zero}, {want: "TTL k", reply: int64(-1)}, {want: "EXPIRE k 1", reply: one}}},
		{"no expiry for sure", "setnx-expire", unknown, 0, []exchange{{reply: one}, {want: "EXPIRE k 1", err: errRefused}}},
		{"not repaired", "setnx-expire-norepair", no, 0, []exchange{{want: "SETNX k t1", reply: zero}}},
		{"ms for seconds", "setnx-expire-published", ok, 0, []exchange{{reply: one}, {want: "EXPIRE k 900", reply: one}}},
		{"repaired, ms for seconds", "setnx-expire-published", no, 0, []exchange{
			{reply: zero}, {want: "TTL k", reply: int64(-1)}, {want: "EXPIRE k 900", reply: one},
		}},
		{"aborted", "setnx-expire-published", ok, ok, []exchange{
			{reply: one}, {want: "EXPIRE k 900"}, {want: "WATCH k"}, {reply: "t1"}, {want: "EXEC DEL k"},
		}},

		{"turn", "setpx-lua-published", ok, ok, []exchange{set, {want: "EVAL delete k t1", reply: one}}},
		{"token unsaved", "setpx-lua-published", unknown, no, []exchange{{err: errLost}}},
		{"release without end", "setpx-lua-published/endless-release", ok, unknown, append([]exchange{set},
			append(slices.Repeat([]exchange{{want: "EVAL delete k t1", reply: zero}}, 50), exchange{err: errLost})...)},

		{"turn", "setex-lua-published", ok, ok, []exchange{{want: "SET k t1 NX EX 1", reply: "OK"}, {want: "EVAL delete k t1", reply: one}}},
		{"taken", "setex-lua-published", no, 0, []exchange{{want: "SET k t1 NX EX 1"}}},
		{"error swallowed", "setex-lua-published", ok, no, []exchange{{reply: "OK"}, {want: "EVAL delete k t1", err: errLost}}},
		{"error told", "setex-lua-published/wall-clock", ok, unknown, []exchange{{reply: "OK"}, {want: "EVAL delete k t1", err: errLost}}},

		{"turn", "redisson-watchdog", ok, ok, []exchange{set, {want: "EVAL delete k t1", reply: one}}},
		{"taken", "redisson-watchdog", no, 0, []exchange{{want: "SET k t1 NX PX 900"}}},

		{"turn", "redisson", ok, ok, []exchange{
			{want: "EVAL count in k 900 t1:1"}, {want: "EVAL count out k k:channel 900 t1:1", reply: one},
		}},
		{"taken", "redisson", no, no, []exchange{{reply: int64(500)}, {want: "EVAL count out k k:channel 900 t1:1"}}},
		{"absent counts as released", "redisson-published", no, ok, []exchange{
			{reply: int64(500)}, {want: "EVAL count out k k:channel 900 t1:1", reply: one},
		}},
		{"taken", "redisson-lease", no, no, []exchange{{reply: int64(500)}, {want: "EVAL count out k k:channel 900 t1:1"}}},
		{"reply lost", "redisson", unknown, 0, []exchange{{err: errLost}}},
		{"nonsense", "redisson", unknown, 0, []exchange{{reply: "OK"}}},

		{"turn", "redisson-fair", ok, ok, []exchange{
			{want: "EVAL in turn k k:queue k:timeout 900 t1:1 9000 1000000"},
			{want: "EVAL pass on k k:queue k:timeout k:channel 900 t1:1 9000 1000000", reply: one},
		}},
		{"taken", "redisson-fair", no, no, []exchange{{reply: int64(500)}, {}}},

		{"turn", "fenced", ok, ok, []exchange{{want: "EVAL count k k:fence t1 900", reply: int64(7)}, {want: "EVAL delete k t1", reply: one}}},
		{"taken", "fenced", no, 0, []exchange{{reply: zero}}},
		{"reply lost", "fenced", unknown, no, []exchange{{err: errLost}, {want: "EVAL delete k ", reply: zero}}},

		{"turn", "watchdog-published", ok, ok, []exchange{set, {want: "EVAL delete k t1", reply: one}}},
		{"taken, three retries", "watchdog-published", no, 0, []exchange{
			set.answered(nil), {want: "SET k t2 NX PX 900"}, {want: "SET k t3 NX PX 900"}, {want: "SET k t4 NX PX 900"},
		}},
		{"reply lost, refused by its ghost", "watchdog-published", no, no, []exchange{
			{err: errLost}, {want: "SET k t2 NX PX 900"}, {want: "SET k t3 NX PX 900"}, {want: "SET k t4 NX PX 900"},
			{want: "EVAL delete k t4", reply: zero},
		}},
		{"reply lost", "watchdog-published/blind-renewal", unknown, 0, []exchange{{err: errLost}}},
		{"reply lost, caught", "watchdog-published/swallowed-error", no, 0, []exchange{{err: errLost}}},
		{"all replies lost, caught", "watchdog-published", no, 0, []exchange{{err: errLost}, {err: errLost}, {err: errLost}, {err: errLost}}},
		{"release lost", "watchdog-published/blind-renewal", ok, unknown, []exchange{set, {want: "EVAL delete k t1", err: errLost}}},
		{"release lost, caught", "watchdog-published", ok, no, []exchange{set, {want: "EVAL delete k t1", err: errLost}}},

		{"taken", "watchdog", no, 0, []exchange{{want: "SET k t1 NX PX 900"}}},
		{"refused", "watchdog", no, 0, []exchange{{err: errRefused}}},
		{"taken back", "watchdog", unknown, 0, []exchange{{err: errLost}, {want: "EVAL delete k t1", reply: one}}},
		{"granted too late", "watchdog", no, 0, []exchange{
			{reply: "OK", takes: 900 * time.Millisecond}, {want: "EVAL delete k t1", reply: zero},
		}},
		{"granted too late, not taken back", "watchdog", unknown, 0, []exchange{
			{reply: "OK", takes: 900 * time.Millisecond}, {err: errLost},
		}},
	}
	for _, test := range tests {
		t.Run(test.lock+" "+test.name, func(t *testing.T) {
			takesTurn(t, test.lock, test.acquire, test.release, test.exchanges)
		})
	}
}

func TestWatchdogGuards(t *testing.T) {
	set := exchange{reply: "OK", takes: 10 * time.Millisecond}
	renewal := "EVAL expire k t1 900"
	tests := []struct {
		name      string
		exchanges []exchange
		said      []string
	}{
		{"renewed, counted from before the command", []exchange{
			{want: renewal, reply: one, takes: 20 * time.Millisecond},
			{want: renewal, reply: one, takes: 40 * time.Millisecond},
			{want: renewal, err: context.Canceled},
		}, []string{"330ms good for 880ms", "670ms good for 860ms"}},
		{"renewed at the second attempt", []exchange{
			{want: renewal, err: errLost}, {want: renewal, reply: one}, {err: context.Canceled},
		}, []string{"385ms good for 900ms"}},
		{"not ours", []exchange{{reply: zero}, {}}, []string{"310ms lost: the renewal found that the lock is no longer ours"}},
		{"never confirmed", slices.Repeat([]exchange{{want: renewal, err: errLost}}, 100), []string{
			"900ms lost: no renewal was confirmed before the lease ended: connection reset",
		}},
		{"confirmed too late", []exchange{{reply: one, takes: 590 * time.Millisecond}, {}}, []string{
			"900ms lost: the lease had ended before it could be renewed",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := newFake(t, append([]exchange{set}, test.exchanges...)...)
			l := lock(t, "watchdog", env)
			held, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			require.True(t, held)
			assert.Equal(t, 890*time.Millisecond, l.(impls.Limited).Valid())
			env.background()
			assert.Equal(t, test.said, env.said)
		})
	}
}

func TestWatchdogPausedPastItsLease(t *testing.T) {
	env := newFake(t, exchange{reply: "OK"})
	l := lock(t, "watchdog", env)
	_, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	env.clock = env.clock.Add(time.Second)
	assert.Negative(t, l.(impls.Limited).Valid())
	env.background()
	assert.Equal(t, []string{"1.3s lost: the lease had ended before it could be renewed"}, env.said)
	assert.Len(t, env.sent, 1, "what is over is not renewed")
}

func TestWatchdogStoppedSaysNothing(t *testing.T) {
	env := newFake(t, exchange{reply: "OK"}, exchange{reply: one})
	l := lock(t, "watchdog", env)
	_, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	held, err := l.Release(t.Context())
	require.NoError(t, err)
	assert.True(t, held)
	env.background()
	assert.Empty(t, env.said)
	assert.Len(t, env.sent, 2)
	assert.LessOrEqual(t, l.(impls.Limited).Valid(), time.Duration(0))
}

// A lock must be a function of what it is told: the model runs it again and again.
func TestLocksAreDeterministic(t *testing.T) {
	replies := []exchange{
		{reply: nil}, {reply: "OK"}, {reply: one}, {reply: zero}, {reply: "t1"}, {reply: mine(1, 0)}, {reply: "{}"},
		{err: errLost}, {err: errRefused}, {reply: one, takes: time.Second}, {reply: []any{"what"}},
	}
	for _, spec := range impls.All() {
		t.Run(spec.Name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				exchanges := rapid.SliceOfN(rapid.SampledFrom(replies), 0, 12).Draw(r, "exchanges")
				verbs := rapid.SliceOfN(rapid.Bool(), 1, 4).Draw(r, "acquire or release")
				first, again := perform(t, spec, exchanges, verbs), perform(t, spec, exchanges, verbs)
				assert.Equal(r, first, again)
			})
		})
	}
}

// perform is all that can be seen of a lock that is told the replies.
func perform(t *testing.T, spec impls.Spec, exchanges []exchange, acquire []bool) []string {
	env := newFake(t, exchanges...)
	l := spec.New(env, impls.Options{Key: "k", Lease: 900 * time.Millisecond})
	var seen []string
	for _, acquire := range acquire {
		do := l.Release
		if acquire {
			do = l.TryAcquire
		}
		done, err := do(t.Context())
		seen = append(seen, fmt.Sprint(done, err))
	}
	if env.task != nil {
		env.background()
	}
	return slices.Concat(seen, env.sent, env.said)
}
