package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/stretchr/testify/require"
)

func inject(t *testing.T, l *Link, f faults.LinkFault) *Injected {
	t.Helper()
	i, err := l.Inject(bounded(t), f)
	require.NoError(t, err)
	t.Logf("%s: %s", f.Kind, i.Evidence())
	return i
}

func recoverFrom(t *testing.T, i *Injected) {
	t.Helper()
	evidence, err := i.Recover(bounded(t))
	require.NoError(t, err)
	t.Logf("recovered: %s", evidence)
}

func whole(t *testing.T, l *Link) {
	t.Helper()
	p, err := newProbe(bounded(t), l)
	require.NoError(t, err)
	p.close()
}

func TestPartitionHoldsAndDelivers(t *testing.T) {
	for name, side := range map[string]faults.Direction{"both": faults.Both, "requests": faults.Requests} {
		t.Run(name, func(t *testing.T) {
			l, u := openLink(t)
			before := dial(t, l.Addr())
			before.say(t, "first")
			require.Equal(t, "first", before.hear(t))

			i := inject(t, l, faults.LinkFault{Kind: faults.Partition, Direction: side})
			var want []string
			// Several KB in many pieces: more than a toxic takes at once.
			for n := range 300 {
				want = append(want, fmt.Sprintf("%d-%s", n, strings.Repeat("x", 60)))
				before.say(t, want[n])
			}
			during := dial(t, l.Addr())
			during.say(t, "on a new connection")
			before.deaf(t)
			require.Equal(t, []string{"first"}, u.received())

			recoverFrom(t, i)
			for _, line := range want {
				require.Equal(t, line, before.hear(t))
			}
			require.Equal(t, "on a new connection", during.hear(t))
			require.Len(t, u.received(), 302)
			whole(t, l)
		})
	}
}

func TestPartitionOfReplies(t *testing.T) {
	l, u := openLink(t)
	c := dial(t, l.Addr())
	i := inject(t, l, faults.LinkFault{Kind: faults.Partition, Direction: faults.Replies})
	c.say(t, "request")
	require.Equal(t, []string{"request"}, u.await(bounded(t), t, 1))
	c.deaf(t)
	recoverFrom(t, i)
	require.Equal(t, "request", c.hear(t))
	whole(t, l)
}

func TestHeldRequestOfADeadClientIsDelivered(t *testing.T) {
	l, u := openLink(t)
	c := dial(t, l.Addr())
	i := inject(t, l, faults.LinkFault{Kind: faults.Partition, Direction: faults.Both})
	c.say(t, "last words")
	require.NoError(t, c.Close())
	recoverFrom(t, i)
	require.Equal(t, []string{"last words"}, u.await(bounded(t), t, 1))
}

func TestRefuse(t *testing.T) {
	l, u := openLink(t)
	c := dial(t, l.Addr())
	c.say(t, "hello")
	require.Equal(t, "hello", c.hear(t))
	i := inject(t, l, faults.LinkFault{Kind: faults.Refuse})
	c.broken(t)
	_, err := net.Dial("tcp", l.Addr())
	require.ErrorContains(t, err, "refused")
	addr := l.Addr()
	recoverFrom(t, i)
	require.Equal(t, addr, l.Addr())
	again := dial(t, l.Addr())
	again.say(t, "back")
	require.Equal(t, "back", again.hear(t))
	require.Equal(t, []string{"hello", "back"}, u.received())
}

func TestRefuseWaitsForItsPort(t *testing.T) {
	l, _ := openLink(t)
	i := inject(t, l, faults.LinkFault{Kind: faults.Refuse})
	thief, err := net.Listen("tcp", l.Addr())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, l.enable(ctx), "its port is taken")
	enabled, patient := make(chan error, 1), bounded(t)
	go func() { enabled <- l.enable(patient) }()
	require.NoError(t, thief.Close())
	require.NoError(t, <-enabled)
	require.NoError(t, l.Close())
	_, err = i.Recover(bounded(t))
	require.ErrorContains(t, err, "ended already")
}

func TestDelay(t *testing.T) {
	l, _ := openLink(t)
	c := dial(t, l.Addr())
	const each = 20 * time.Millisecond
	i := inject(t, l, faults.LinkFault{Kind: faults.Delay, Each: each})
	start := time.Now()
	c.say(t, "slow")
	require.Equal(t, "slow", c.hear(t))
	require.GreaterOrEqual(t, time.Since(start), 2*each)
	recoverFrom(t, i)
	whole(t, l)
}

func TestDelayRoundsUp(t *testing.T) {
	l, _ := openLink(t)
	recoverFrom(t, inject(t, l, faults.LinkFault{Kind: faults.Delay, Each: 1500 * time.Microsecond}))
	recoverFrom(t, inject(t, l, faults.LinkFault{Kind: faults.Delay, Each: time.Nanosecond}))
}

func TestLoseReplies(t *testing.T) {
	l, u := openLink(t)
	c := dial(t, l.Addr())
	i := inject(t, l, faults.LinkFault{Kind: faults.ReplyLost})
	c.say(t, "applied")
	require.Equal(t, []string{"applied"}, u.await(bounded(t), t, 1))
	c.deaf(t)
	recoverFrom(t, i)
	c.broken(t)
	whole(t, l)
}

func TestFaultsOneAfterAnother(t *testing.T) {
	l, _ := openLink(t)
	for range 3 {
		for _, f := range []faults.LinkFault{{Kind: faults.Partition, Direction: faults.Both}, {Kind: faults.Refuse}, {Kind: faults.Delay, Each: time.Millisecond}, {Kind: faults.ReplyLost}, {Kind: faults.Partition, Direction: faults.Replies}, {Kind: faults.Partition, Direction: faults.Requests}} {
			recoverFrom(t, inject(t, l, f))
		}
	}
}

func TestOneFaultAtATime(t *testing.T) {
	l, _ := openLink(t)
	i := inject(t, l, faults.LinkFault{Kind: faults.Partition, Direction: faults.Both})
	_, err := l.Inject(bounded(t), faults.LinkFault{Kind: faults.Delay, Each: time.Second})
	require.ErrorContains(t, err, "a fault already: requests and replies held")
	recoverFrom(t, i)
	_, err = i.Recover(bounded(t))
	require.ErrorContains(t, err, "ended already")
	recoverFrom(t, inject(t, l, faults.LinkFault{Kind: faults.Refuse}))
}

func TestUnreasonableDelay(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second, forever} {
		l, _ := openLink(t)
		_, err := l.Inject(bounded(t), faults.LinkFault{Kind: faults.Delay, Each: d})
		require.ErrorContains(t, err, "is out of range")
		recoverFrom(t, inject(t, l, faults.LinkFault{Kind: faults.Refuse})) // nothing was begun, so the link is as it was
	}
}

func TestCloseDropsWhatIsHeld(t *testing.T) {
	for _, f := range []faults.LinkFault{{Kind: faults.Partition, Direction: faults.Both}, {Kind: faults.Partition, Direction: faults.Requests}, {Kind: faults.Partition, Direction: faults.Replies}, {Kind: faults.Delay, Each: 10 * time.Second}, {Kind: faults.Refuse}, {Kind: faults.ReplyLost}} {
		t.Run(string(f.Kind)+" "+f.String(), func(t *testing.T) {
			u := startUpstream(t)
			l, err := openNetwork(t).Link(bounded(t), "C1", u.addr(), u)
			require.NoError(t, err)
			c, dead := dial(t, l.Addr()), dial(t, l.Addr())
			if f == (faults.LinkFault{Kind: faults.Delay, Each: 10 * time.Second}) {
				l.canary = nil // which would wait for two times ten seconds
			}
			i := inject(t, l, f)
			for n := range 5 {
				for _, user := range []*user{c, dead} {
					_, _ = fmt.Fprintf(user, "held %d\n", n)
				}
			}
			if f == (faults.LinkFault{Kind: faults.Partition, Direction: faults.Replies}) || f == (faults.LinkFault{Kind: faults.ReplyLost}) {
				// toxiproxy forgets a goroutine when a connection ends while several pieces are on their way.
				u.await(bounded(t), t, 10)
			}
			require.NoError(t, dead.Close())
			started := time.Now()
			require.NoError(t, l.Close())
			require.Less(t, time.Since(started), 4*time.Second, "toxiproxy gives up on each held chunk after 5 s")
			c.broken(t)
			if f.Kind == faults.Partition && f.Direction != faults.Replies {
				require.Empty(t, u.received())
			}
			_, err = i.Recover(bounded(t))
			require.ErrorContains(t, err, "ended already")
			_, err = l.Inject(bounded(t), f)
			require.ErrorContains(t, err, "it is closed")
		})
	}
}

func TestWithoutCanary(t *testing.T) {
	u := startUpstream(t)
	l, err := openNetwork(t).Link(bounded(t), "C1", u.addr(), nil)
	require.NoError(t, err)
	for _, f := range []faults.LinkFault{{Kind: faults.Partition, Direction: faults.Both}, {Kind: faults.Refuse}, {Kind: faults.Delay, Each: time.Millisecond}, {Kind: faults.ReplyLost}} {
		i := inject(t, l, f)
		require.Contains(t, i.Evidence(), "no canary")
		evidence, err := i.Recover(bounded(t))
		require.NoError(t, err)
		require.Contains(t, evidence, "no canary")
	}
}

// A restart of the server breaks the probe's connection, which says nothing of the link.
func TestRecoveryAfterTheServerHasBrokenTheConnections(t *testing.T) {
	for name, f := range map[string]faults.LinkFault{
		"partition":             {Kind: faults.Partition, Direction: faults.Both},
		"partition of requests": {Kind: faults.Partition, Direction: faults.Requests},
		"partition of replies":  {Kind: faults.Partition, Direction: faults.Replies},
		"delay":                 {Kind: faults.Delay, Each: time.Millisecond},
		"replies lost":          {Kind: faults.ReplyLost},
		"refuse":                {Kind: faults.Refuse},
	} {
		t.Run(name, func(t *testing.T) {
			l, u := openLink(t)
			i := inject(t, l, f)
			u.breakConnections()
			recoverFrom(t, i)
			again := dial(t, l.Addr())
			again.say(t, "back")
			require.Equal(t, "back", again.hear(t))
		})
	}
	t.Run("a link that does not work again", func(t *testing.T) {
		l, u := openLink(t)
		i := inject(t, l, faults.LinkFault{Kind: faults.Delay, Each: time.Millisecond})
		u.close()
		_, err := i.Recover(bounded(t))
		require.ErrorContains(t, err, "recover from delay on link")
	})
}

func TestFaultsThatDoNotTakeEffectAreNoticed(t *testing.T) {
	ctx := bounded(t)
	for name, f := range map[string]faults.LinkFault{"requests": {Kind: faults.Partition, Direction: faults.Requests}, "replies": {Kind: faults.Partition, Direction: faults.Replies}, "both": {Kind: faults.Partition, Direction: faults.Both}} {
		t.Run("partition of "+name, func(t *testing.T) {
			l, u := openLink(t)
			i := inject(t, l, f)
			// The toxics go away behind the fault's back: what it holds comes through before recovery.
			for _, stream := range streams(f.Direction) {
				require.NoError(t, l.unslow(ctx, stream))
			}
			require.NoError(t, i.probe.awaitArrival(ctx, i.ping))
			c := dial(t, l.Addr())
			c.say(t, "through")
			require.Equal(t, "through", c.hear(t))
			u.await(ctx, t, 1)
			awaitReplies(ctx, t, i.probe)
			for _, stream := range streams(f.Direction) {
				require.NoError(t, l.slow(ctx, stream, forever))
			}
			_, err := i.Recover(ctx)
			require.ErrorContains(t, err, "the partition leaked")
		})
	}
	t.Run("replies lost", func(t *testing.T) {
		l, _ := openLink(t)
		i := inject(t, l, faults.LinkFault{Kind: faults.ReplyLost})
		i.probe.replies <- "a reply"
		_, err := i.Recover(ctx)
		require.ErrorContains(t, err, "a reply came through")
	})
	t.Run("refuse", func(t *testing.T) {
		l, _ := openLink(t)
		i := inject(t, l, faults.LinkFault{Kind: faults.Refuse})
		require.NoError(t, l.enable(ctx))
		_, err := i.Recover(ctx)
		require.ErrorContains(t, err, "the link did not refuse until recovery")
	})
}

// awaitReplies waits until a reply lies unread in the probe.
func awaitReplies(ctx context.Context, t *testing.T, p *probe) {
	t.Helper()
	select {
	case line := <-p.replies:
		p.replies <- line
	case <-ctx.Done():
		t.Fatal("no reply")
	}
}

func TestALinkThatIsNotWholeIsNoticed(t *testing.T) {
	u := startUpstream(t)
	l, err := openNetwork(t).Link(bounded(t), "C1", u.addr(), u)
	require.NoError(t, err)
	u.close()
	_, err = l.Inject(bounded(t), faults.LinkFault{Kind: faults.Partition, Direction: faults.Both})
	require.ErrorContains(t, err, "the link did not work before")
}

func TestCallsAreGivenUpWithTheContext(t *testing.T) {
	l, _ := openLink(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	entered := make(chan struct{})
	go func() { <-entered; cancel(errors.New("enough")) }()
	err := l.call(ctx, func() error { close(entered); <-release; return nil })
	require.ErrorContains(t, err, "toxiproxy does not answer: enough")
	err = l.call(ctx, func() error { return nil })
	require.ErrorContains(t, err, "toxiproxy is still busy: enough")
	close(release)
}

// While a request of it is held, too, toxiproxy does not hear that a client has gone; nor that it cannot hand on the replies to it.
func TestRepliesToADeadClientHoldNothingUp(t *testing.T) {
	l, u := openLink(t)
	ctx := bounded(t)
	var dead []*user
	for range 200 {
		dead = append(dead, dial(t, l.Addr()))
	}
	require.NoError(t, l.slow(ctx, downstream, forever))
	for n := range 4 {
		for _, c := range dead {
			c.say(t, "request")
		}
		u.await(ctx, t, (n+1)*len(dead))
	}
	require.NoError(t, l.slow(ctx, upstream, forever))
	for _, c := range dead {
		c.say(t, "last words")
		require.NoError(t, c.Close())
	}
	// The first reply to a dead client makes its connection fail, and what toxiproxy has not read of it is lost.
	awaitAtMost(t, len(dead), "toxiproxy/v2.(*ToxicLink).read(")
	require.NoError(t, l.unslow(ctx, downstream))
	require.NoError(t, l.unslow(ctx, upstream))
	u.await(ctx, t, 5*len(dead))
	// While a dead connection takes its leave, toxiproxy 2.12 can hang for ever when a toxic is added.
	awaitAtMost(t, 0, "toxiproxy/v2.(*ToxicLink).write(")
	recoverFrom(t, inject(t, l, faults.LinkFault{Kind: faults.Partition, Direction: faults.Both}))
	whole(t, l)
}
