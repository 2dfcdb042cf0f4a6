package checker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// unread is the history of a lock of which no command is on record.
type unread struct{ events []history.Event }

func (u *unread) add(at time.Duration, e history.Event) *unread {
	e.At, e.Lock = at, "k"
	u.events = append(u.events, e)
	return u
}

func (u *unread) open(client string, leaseless bool) *unread {
	return u.add(0, history.Event{Kind: history.KindOpen, Client: client, Detail: &history.Detail{Lease: time.Second, Leaseless: leaseless, Unseen: history.Opaque}})
}

// asks is an operation from its call to its return, with the validity that it declares.
func (u *unread) asks(client string, op history.Op, from, to, bound, valid time.Duration, outcome history.Outcome) *unread {
	id := int64(len(u.events) + 1)
	u.add(from, history.Event{Kind: history.KindCall, Client: client, Op: op, ID: id, Detail: &history.Detail{Bound: bound}})
	return u.add(to, history.Event{Kind: history.KindReturn, Client: client, Op: op, ID: id, Outcome: outcome, Valid: valid})
}

func (u *unread) exits(at time.Duration, client string) *unread {
	return u.add(at, history.Event{Kind: history.KindExit, Client: client})
}

// TestStuckUnread: where no command is on record, a lock is stuck by what its clients were answered. Both judges say so.
func TestStuckUnread(t *testing.T) {
	const s = time.Second
	opened := func(leaseless bool) *unread {
		return new(unread).open("C1", leaseless).open("C2", leaseless).open("C3", leaseless)
	}
	held := func(leaseless bool) *unread {
		return opened(leaseless).asks("C1", history.OpAcquire, 1, 2, 0, 0, history.OK)
	}
	waits := func(u *unread, from, to time.Duration) *unread {
		return u.asks("C2", history.OpAcquire, from, to, to-from, 0, history.No)
	}
	for name, test := range map[string]struct {
		u     *unread
		stuck bool
	}{
		"for longer than a lease":       {waits(held(false).exits(3, "C1"), 4, 3*s), true},
		"for less than a lease":         {waits(held(false).exits(3, "C1"), 4, s/2), false},
		"without a lease":               {waits(held(true).exits(3, "C1"), 4, s/2), true},
		"somebody holds it":             {waits(held(false), 4, 3*s), false},
		"released":                      {waits(held(false).asks("C1", history.OpRelease, 3, 4, 0, 0, history.OK), 5, 3*s), true},
		"a release of unknown outcome":  {waits(held(false).asks("C1", history.OpRelease, 3, 4, 0, 0, history.Unknown), 5, 3*s), false},
		"an acquire of unknown outcome": {waits(opened(false).asks("C1", history.OpAcquire, 1, 2, 0, 0, history.Unknown), 5, 3*s), false},
		"of one that is dead":           {waits(opened(false).asks("C1", history.OpAcquire, 1, 2, 0, 0, history.Unknown).exits(3, "C1"), 5, 3*s), true},
		"of itself":                     {waits(opened(false).asks("C2", history.OpAcquire, 1, 2, 0, 0, history.Unknown), 5, 3*s), false},
		"granted":                       {held(false).exits(3, "C1").asks("C2", history.OpAcquire, 4, 3*s, 3*s-4, 0, history.OK), false},
	} {
		verdict := Judge(test.u.events, Options{})
		require.False(t, verdict.CheckerFault, "%s: %s", name, verdict.Reason)
		assert.Equal(t, test.stuck, len(verdict.Names()) == 1 && verdict.Names()[0] == StuckLock, "%s: %v", name, verdict)
		assert.Equal(t, !test.stuck, verdict.Kind == Safe, "%s: %v", name, verdict)
	}
}

// Two that ask at the same time may have it in turn: whoever is refused shows nothing.
func TestNotStuckWhileAnotherAsks(t *testing.T) {
	const s = time.Second
	u := new(unread).open("C1", true).open("C2", true)
	u.add(1, history.Event{Kind: history.KindCall, Client: "C1", Op: history.OpAcquire, ID: 7, Detail: &history.Detail{Bound: s}})
	u.add(2, history.Event{Kind: history.KindCall, Client: "C2", Op: history.OpAcquire, ID: 8, Detail: &history.Detail{Bound: s}})
	u.add(s+1, history.Event{Kind: history.KindReturn, Client: "C1", Op: history.OpAcquire, ID: 7, Outcome: history.No})
	u.add(s+2, history.Event{Kind: history.KindReturn, Client: "C2", Op: history.OpAcquire, ID: 8, Outcome: history.No})
	assert.Equal(t, Verdict{Kind: Safe}, Judge(u.events, Options{}))
}

// TestValidityUnread: a declaration from the background prolongs the hold from the one before it, and no further.
func TestValidityUnread(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	story := func(second time.Duration) Verdict {
		u := new(unread).open("C1", false).open("C2", false).asks("C1", history.OpAcquire, 0, ms, 0, s, history.OK)
		u.add(600*ms, history.Event{Kind: history.KindValid, Client: "C1", Valid: s})
		u.add(1200*ms, history.Event{Kind: history.KindValid, Client: "C1", Valid: s})
		return Judge(u.asks("C2", history.OpAcquire, second, second+ms, 0, s, history.OK).events, Options{})
	}
	assert.Equal(t, []Name{DoubleHolder}, story(1500*ms).Names())
	assert.Equal(t, Safe, story(1700*ms).Kind, "the last declaration can have been made at 0.6 s")
}
