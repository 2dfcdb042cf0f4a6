package impls_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// onEach makes an exchange for each server of a script such as "S1 ok, S2 no, S3 lost": what, and what each answers. A letter's
// meaning is in replies; takes is the time of those that are lost.
func onEach(t *testing.T, what, answers string, replies map[string]any) []exchange {
	t.Helper()
	var all []exchange
	for answer := range strings.SplitSeq(answers, ", ") {
		server, word, _ := strings.Cut(answer, " ")
		e := exchange{want: server + " " + what}
		if word == "lost" {
			e.err, e.takes = errLost, 45*time.Millisecond
		} else {
			reply, known := replies[word]
			require.True(t, known, word)
			e.reply = reply
		}
		all = append(all, e)
	}
	return all
}

func several(t *testing.T, servers int, exchanges ...[]exchange) *fake {
	var all []exchange
	for _, some := range exchanges {
		all = append(all, some...)
	}
	f := newFake(t, all...)
	f.servers = servers
	return f
}

var (
	setReplies = map[string]any{"ok": "OK", "no": nil}
	delReplies = map[string]any{"ok": one, "no": zero}
)

// The keys of Redlock as article 003 words it end after a fifth of the lease; its hold does, too, unless it has no end.
func TestTinyExpiry(t *testing.T) {
	for name, limited := range map[string]bool{"tiny-expiry": true, "no-end+tiny-expiry": false, "no-end": false} {
		env := newFake(t, exchange{reply: "OK"}, exchange{reply: "OK"}, exchange{reply: "OK"})
		env.servers = 3
		l := lock(t, "redlock-endless/"+name, env)
		held, err := l.TryAcquire(t.Context())
		assert.NoError(t, err)
		assert.True(t, held)
		px := "PX 180"
		if name == "no-end" {
			px = "PX 900"
		}
		assert.Contains(t, env.sent[0], px)
		_, declares := l.(impls.Limited)
		assert.Equal(t, limited, declares, name)
	}
}

func TestRedlock(t *testing.T) {
	ok, no, unknown := history.OK, history.No, history.Unknown
	const all = "S1 ok, S2 ok, S3 ok, S4 ok, S5 ok"
	tests := []struct {
		name      string
		lock      string
		set       string
		takenBack string // "": nothing is
		acquire   history.Outcome
		removed   string // by the release, if the lock was had
		release   history.Outcome
		valid     time.Duration // after the acquire, where it is declared
	}{
		{name: "every server", set: all, acquire: ok, valid: 889 * time.Millisecond, removed: all, release: ok},
		{name: "two down", set: "S1 ok, S2 ok, S3 ok, S4 lost, S5 lost", acquire: ok, valid: 799 * time.Millisecond,
			removed: "S1 ok, S2 ok, S3 ok, S4 lost, S5 lost", release: ok},
		{name: "two are another's", set: "S1 ok, S2 no, S3 no, S4 ok, S5 ok", acquire: ok, valid: 889 * time.Millisecond,
			removed: "S1 ok, S2 no, S3 no, S4 ok, S5 ok", release: ok},
		{name: "refused", set: "S1 no, S2 no, S3 no, S4 no, S5 no", takenBack: "S1 no, S2 no, S3 no, S4 no, S5 no", acquire: no},
		{name: "even split", set: "S1 ok, S2 ok, S3 no, S4 no, S5 lost", takenBack: "S1 ok, S2 ok, S3 no, S4 no, S5 lost", acquire: no},
		{name: "two cannot be taken back", set: "S1 ok, S2 ok, S3 no, S4 no, S5 no", takenBack: "S1 lost, S2 lost, S3 no, S4 no, S5 no", acquire: no},
		{name: "a majority may remain", set: "S1 ok, S2 ok, S3 lost, S4 no, S5 no", takenBack: "S1 lost, S2 lost, S3 no, S4 no, S5 no", acquire: unknown},
		{name: "late after a removal that found nothing", set: "S1 lost, S2 lost, S3 lost, S4 no, S5 no",
			takenBack: "S1 no, S2 no, S3 no, S4 no, S5 no", acquire: unknown},
		{name: "what was lost is found and removed", set: "S1 lost, S2 lost, S3 lost, S4 no, S5 no",
			takenBack: "S1 ok, S2 no, S3 no, S4 no, S5 no", acquire: no},
		{name: "nobody there", set: "S1 lost, S2 lost, S3 lost, S4 lost, S5 lost", takenBack: "S1 lost, S2 lost, S3 lost, S4 lost, S5 lost", acquire: unknown},
		{name: "ended meanwhile", set: all, acquire: ok, valid: 889 * time.Millisecond,
			removed: "S1 no, S2 no, S3 no, S4 ok, S5 ok", release: no},
		{name: "release: nobody knows", set: all, acquire: ok, valid: 889 * time.Millisecond,
			removed: "S1 ok, S2 ok, S3 lost, S4 no, S5 no", release: unknown},
		{name: "release: one unreachable", set: all, acquire: ok, valid: 889 * time.Millisecond,
			removed: "S1 ok, S2 ok, S3 ok, S4 ok, S5 lost", release: ok},
		{name: "two of five", lock: "redlock-no-second-look/half-majority", set: "S1 ok, S2 ok, S3 no, S4 no, S5 no", acquire: ok, valid: 889 * time.Millisecond},
		{name: "one of five", lock: "redlock-no-second-look/half-majority", set: "S1 ok, S2 no, S3 no, S4 no, S5 no",
			takenBack: "S1 ok, S2 no, S3 no, S4 no, S5 no", acquire: no},
		{name: "two of five", lock: "redlock-endless", set: "S1 ok, S2 ok, S3 no, S4 no, S5 no",
			takenBack: "S1 ok, S2 ok, S3 no, S4 no, S5 no", acquire: no},
	}
	for _, test := range tests {
		name := test.lock
		if name == "" {
			name = "redlock"
		}
		t.Run(name+": "+test.name, func(t *testing.T) {
			exchanges := [][]exchange{onEach(t, "SET k t1 NX PX 900", test.set, setReplies)}
			for _, removal := range []string{test.takenBack, test.removed} {
				if removal != "" {
					exchanges = append(exchanges, onEach(t, "EVAL delete k t1", removal, delReplies))
				}
			}
			f := several(t, 5, exchanges...)
			l := lock(t, name, f)
			ctx := context.Background()
			held, err := l.TryAcquire(ctx)
			assert.Equal(t, test.acquire, impls.Outcome(held, err))
			if limited, ok := l.(impls.Limited); ok && held {
				assert.Equal(t, test.valid, limited.Valid())
			}
			if test.release != 0 {
				assert.Equal(t, test.release, impls.Outcome(l.Release(ctx)))
			}
			assert.Empty(t, f.exchanges)
		})
	}
}

// A pause between the servers is seen by whoever looks at the clock again.
func TestRedlockLooksAtTheClockAgain(t *testing.T) {
	const all = "S1 ok, S2 ok, S3 ok, S4 ok, S5 ok"
	for name, held := range map[string]bool{"redlock": false, "redlock-endless": false, "redlock-no-second-look": true} {
		for _, pause := range []time.Duration{889 * time.Millisecond, 888 * time.Millisecond} {
			set := onEach(t, "SET k t1 NX PX 900", all, setReplies)
			set[3].takes = pause
			f := several(t, 5, set, onEach(t, "EVAL delete k t1", "S1 no, S2 no, S3 no, S4 ok, S5 ok", delReplies))
			got, err := lock(t, name, f).TryAcquire(context.Background())
			require.NoError(t, err)
			assert.Equal(t, held || pause == 888*time.Millisecond, got, "%s %v", name, pause)
		}
	}
}

func TestRedlockGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := several(t, 5, []exchange{
		{want: "S1 SET k t1 NX PX 900", reply: "OK"},
		{want: "S2 SET k t1 NX PX 900", err: context.Canceled, meanwhile: cancel},
	}, onEach(t, "EVAL delete k t1", "S1 ok, S2 ok, S3 no, S4 no, S5 no", delReplies))
	held, err := lock(t, "redlock", f).TryAcquire(ctx)
	assert.Equal(t, history.Unknown, impls.Outcome(held, err))
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, f.exchanges, "nothing more is tried, and what was got is taken back")
}

// A release that is given up asks the rest of the servers all the same, but does not wait for what it came to on the first.
func TestReleaseGivenUp(t *testing.T) {
	for _, name := range []string{"redlock", "redlock-endless"} {
		ctx, cancel := context.WithCancel(context.Background())
		f := several(t, 5, onEach(t, "SET k t1 NX PX 900", "S1 ok, S2 ok, S3 ok, S4 ok, S5 ok", setReplies),
			[]exchange{{want: "S1 EVAL delete k t1", err: context.Canceled, meanwhile: cancel}},
			onEach(t, "EVAL delete k t1", "S2 ok, S3 ok, S4 ok, S5 ok", delReplies))
		l := lock(t, name, f)
		held, err := l.TryAcquire(ctx)
		require.NoError(t, err)
		require.True(t, held)
		assert.Equal(t, history.Unknown, impls.Outcome(l.Release(ctx)), name)
		assert.Empty(t, f.exchanges)
	}
}

type multilockTest struct {
	name, lock string
	acquire    history.Outcome
	release    history.Outcome // none: there is none
	exchanges  []exchange
}

func TestMultilock(t *testing.T) {
	ok, no, unknown := history.OK, history.No, history.Unknown
	granted := func(server, id string) exchange { return exchange{want: server + " EVAL count in k 900 " + id} }
	refused := func(server, id string) exchange { return granted(server, id).answered(int64(500)) }
	lost := func(server, id string) exchange { e := granted(server, id); e.err = errLost; return e }
	freed := func(server, id string) exchange {
		return exchange{want: server + " EVAL count out k k:channel 900 " + id, reply: one}
	}
	gone := func(server, id string) exchange { return freed(server, id).answered(nil) }
	unheard := func(server, id string) exchange { e := freed(server, id); e.err = errLost; return e }
	a, b, c := "t1:1", "t2:1", "t3:1" // each server has a client of its own

	tests := []multilockTest{
		{"turn", "redisson-multilock", ok, ok, []exchange{
			granted("S1", a), granted("S2", b), granted("S3", c), freed("S1", a), freed("S2", b), freed("S3", c),
		}},
		{"one refuses", "redisson-multilock", no, 0, []exchange{granted("S1", a), refused("S2", b), freed("S1", a)}},
		{"one is down", "redisson-multilock", no, 0, []exchange{granted("S1", a), lost("S2", b), unheard("S2", b), freed("S1", a)}},
		{"one is not released", "redisson-multilock", ok, unknown, []exchange{
			granted("S1", a), granted("S2", b), granted("S3", c), freed("S1", a), unheard("S2", b), freed("S3", c),
		}},
		{"one had ended", "redisson-multilock", ok, no, []exchange{
			granted("S1", a), granted("S2", b), granted("S3", c), freed("S1", a), gone("S2", b), freed("S3", c),
		}},
		{"turn", "redisson-redlock", ok, ok, []exchange{
			granted("S1", a), granted("S2", b), granted("S3", c), freed("S1", a), freed("S2", b), freed("S3", c),
		}},
		{"the first is down", "redisson-redlock", ok, ok, []exchange{
			lost("S1", a), unheard("S1", a), granted("S2", b), granted("S3", c), unheard("S1", a), freed("S2", b), freed("S3", c),
		}},
		{"the last refuses", "redisson-redlock", ok, 0, []exchange{granted("S1", a), granted("S2", b), refused("S3", c)}},
		{"two refuse", "redisson-redlock", no, 0, []exchange{granted("S1", a), refused("S2", b), refused("S3", c), freed("S1", a)}},
		{"names on one server", "redisson-redlock/one-server", ok, ok, []exchange{
			{want: "S2 EVAL count in k 900 t1:1"}, {want: "S2 EVAL count in k-2 900 t1:1"}, {want: "S2 EVAL count in k-3 900 t1:1"},
			{want: "S2 EVAL count out k k:channel 900 t1:1", reply: one}, {want: "S2 EVAL count out k-2 k-2:channel 900 t1:1", reply: one},
			{want: "S2 EVAL count out k-3 k-3:channel 900 t1:1", reply: one},
		}},
	}
	for _, test := range append(tests, fairRedlockTests()...) {
		t.Run(test.lock+": "+test.name, func(t *testing.T) {
			f := several(t, 3, test.exchanges)
			l := lock(t, test.lock, f)
			held, err := l.TryAcquire(context.Background())
			assert.Equal(t, test.acquire, impls.Outcome(held, err))
			if test.release != 0 {
				assert.Equal(t, test.release, impls.Outcome(l.Release(context.Background())))
			}
			assert.Empty(t, f.exchanges)
		})
	}
}

func TestMultilockGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := several(t, 3, []exchange{
		{want: "S1 EVAL count in k 900 t1:1"},
		{want: "S2 EVAL count in k 900 t2:1", err: errors.New("cancelled"), meanwhile: cancel},
		{want: "S2 EVAL count out k k:channel 900 t2:1", reply: one},
		{want: "S1 EVAL count out k k:channel 900 t1:1", reply: one},
	})
	held, err := lock(t, "redisson-multilock", f).TryAcquire(ctx)
	assert.Equal(t, history.Unknown, impls.Outcome(held, err))
	assert.Empty(t, f.exchanges)
}

// TestRedlockOnACluster: each primary is asked for a key of its own, in every operation.
func TestRedlockOnACluster(t *testing.T) {
	var exchanges []exchange
	for _, command := range []string{"SET %sk t1 NX PX 900", "EVAL delete %sk t1"} {
		for i, tag := range []string{"{a}", "{b}", "{c}"} {
			e := exchange{want: fmt.Sprintf("S%d "+command, i+1, tag), reply: "OK"}
			if strings.HasPrefix(command, "EVAL") {
				e.reply = one
			}
			exchanges = append(exchanges, e)
		}
	}
	f := several(t, 3, exchanges)
	l := lock(t, "redlock-cluster", f)
	assert.Equal(t, history.OK, impls.Outcome(l.TryAcquire(t.Context())))
	assert.Equal(t, history.OK, impls.Outcome(l.Release(t.Context())))
	assert.Empty(t, f.exchanges)
}
