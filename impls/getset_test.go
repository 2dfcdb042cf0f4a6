package impls_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

const (
	liveStamp = `{"expires":1000001,"token":"x"}`
	deadStamp = `{"expires":999999,"token":"x"}`
)

// A try of the published code makes its value once and keeps it as its token only if it was granted. After each ending here the token is
// that of the hold before, by which the client still releases. Errors reach the caller.
func TestPublishedTry(t *testing.T) {
	const slow = time.Second // by then a new value would be another one
	refused := exchange{reply: zero, takes: slow}
	got := func(stamp string) exchange { return exchange{want: "GET k2", reply: stamp, takes: slow} }
	replaced := exchange{want: "GETSET k2 " + mine(2, 0)}
	tests := []struct {
		name string
		bug  string // beside shared-token
		want history.Outcome
		err  error
		try  []exchange
	}{
		{"live", "", history.No, nil, []exchange{{reply: zero}, {want: "GET k2", reply: liveStamp}}},
		{"dead", "+stale-stamp", history.OK, nil, []exchange{refused, got(deadStamp), replaced.answered(deadStamp)}},
		{"dead, then gone", "+stale-stamp", history.OK, nil, []exchange{refused, got(deadStamp), replaced}},
		{"somebody was faster", "+stale-stamp", history.No, nil, []exchange{refused, got(deadStamp), replaced.answered(liveStamp)}},
		{"no stamp", "", history.Unknown, nil, []exchange{refused, got("1234")}},
		{"SETNX lost", "", history.Unknown, errLost, []exchange{{want: "SETNX k2 " + mine(2, 0), err: errLost}}},
		{"GET lost", "", history.Unknown, errLost, []exchange{refused, {want: "GET k2", err: errLost}}},
		{"GETSET lost", "+stale-stamp", history.Unknown, errLost, []exchange{refused, got(deadStamp), {want: replaced.want, err: errLost}}},
		{"gone, SETNX lost", "", history.Unknown, errLost, []exchange{refused, {want: "GET k2"}, {want: "SETNX k2 " + mine(3, slow), err: errLost}}},
		{"gone, SETNX lost with its result", "+lost-retry", history.Unknown, errLost, []exchange{refused, {want: "GET k2"}, {err: errLost}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := newFake(t, append([]exchange{{reply: one}}, test.try...)...)
			first, second := on(t, "getset-published/shared-token", "k", env), on(t, "getset-published/shared-token"+test.bug, "k2", env)
			_, err := first.TryAcquire(t.Context())
			require.NoError(t, err)
			held, err := second.TryAcquire(t.Context())
			assert.Equal(t, test.want, impls.Outcome(held, err))
			if test.err != nil {
				assert.ErrorIs(t, err, test.err)
			}
			require.Empty(t, env.exchanges)
			own := mine(1, 0)
			if held {
				own = mine(2, 0)
			}
			env.exchanges = []exchange{{want: "GET k", reply: own}, {want: "DEL k", reply: one}}
			assert.Equal(t, history.OK, impls.Outcome(first.Release(t.Context())), "released by its token")
			assert.Empty(t, env.exchanges)
		})
	}
}

// The published release has no result. Without that bug it says what DEL did; the token of a release that was answered is gone in either case.
func TestPublishedReleaseHasNoResult(t *testing.T) {
	for _, removed := range []int64{zero, one} {
		for name, want := range map[string][2]history.Outcome{
			"getset-published":             {history.OK, history.OK},
			"getset-published/local-check": {impls.Outcome(removed == one, nil), history.No},
		} {
			t.Run(fmt.Sprint(name, " DEL ", removed), func(t *testing.T) {
				env := newFake(t, exchange{reply: one}, exchange{want: "GET k", reply: mine(1, 0)}, exchange{want: "DEL k", reply: removed})
				l := lock(t, name, env)
				_, err := l.TryAcquire(t.Context())
				require.NoError(t, err)
				for _, want := range want {
					assert.Equal(t, want, impls.Outcome(l.Release(t.Context())))
				}
				assert.Empty(t, env.exchanges)
				assert.Len(t, env.sent, 3, "the second release sends nothing")
			})
		}
	}
}

// Without local-check a check asks the server, and its error reaches the caller.
func TestCheckAsksTheServer(t *testing.T) {
	tests := []struct {
		name  string
		reply exchange
		want  bool
	}{
		{"ours", exchange{want: "GET k", reply: mine(1, 0)}, true},
		{"another's", exchange{want: "GET k", reply: liveStamp}, false},
		{"gone", exchange{want: "GET k"}, false},
		{"lost", exchange{want: "GET k", err: errLost}, false},
	}
	for _, name := range []string{"getset", "getset-published/stale-stamp"} {
		for _, test := range tests {
			t.Run(name+" "+test.name, func(t *testing.T) {
				env := newFake(t, exchange{reply: one}, test.reply)
				l := lock(t, name, env)
				_, err := l.TryAcquire(t.Context())
				require.NoError(t, err)
				held, err := l.(impls.Checker).Held(t.Context())
				assert.Equal(t, test.want, held)
				assert.ErrorIs(t, err, test.reply.err)
				assert.Empty(t, env.exchanges)
			})
		}
	}
}

// Article 000 describes two clients that read nil: nil from GET counts as expired, nil from GETSET as lost.
func TestNilAsExpiredAndAsLost(t *testing.T) {
	const both, lost, expired = "getset-nil-lost/nil-lost+nil-expired", "getset-nil-lost", "getset-nil-lost/nil-expired"
	refused, gone, replaced := exchange{reply: zero}, exchange{want: "GET k"}, exchange{want: "GETSET k " + mine(2, 0)}
	tests := []struct {
		name, lock string
		want       history.Outcome
		exchanges  []exchange
	}{
		{"nil from both", both, history.No, []exchange{refused, gone, replaced}},
		{"nil from both", expired, history.OK, []exchange{refused, gone, replaced}},
		{"nil from both", lost, history.OK, []exchange{refused, gone, {want: "SETNX k " + mine(2, 0), reply: one}}},
		{"nil from GET, then a ghost", both, history.No, []exchange{refused, gone, replaced.answered(liveStamp)}},
		{"nil from GETSET", both, history.No, []exchange{refused, {want: "GET k", reply: deadStamp}, replaced}},
		{"dead", both, history.OK, []exchange{refused, {want: "GET k", reply: deadStamp}, replaced.answered(deadStamp)}},
		{"dead", lost, history.OK, []exchange{refused, {want: "GET k", reply: deadStamp}, replaced.answered(deadStamp)}},
	}
	for _, test := range tests {
		t.Run(test.lock+" "+test.name, func(t *testing.T) { takesTurn(t, test.lock, test.want, history.OutcomeNone, test.exchanges) })
	}
}
