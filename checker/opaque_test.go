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
	return u.add(0, history.Event{Kind: history.KindOpen, Client: client, Detail: &history.Detail{Lease: time.Second, Contract: history.Contract{Leaseless: leaseless}, Unseen: history.Opaque}})
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

// TestStuckUnread: where no command is on record, a lock is stuck, or was not released, by what its clients were answered. Both judges say so.
func TestStuckUnread(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	opened := func(leaseless bool) *unread {
		return new(unread).open("C1", leaseless).open("C2", leaseless).open("C3", leaseless)
	}
	held := func(leaseless bool) *unread {
		return opened(leaseless).asks("C1", history.OpAcquire, 1, 2, 0, 0, history.OK)
	}
	waits := func(u *unread, from, to time.Duration) *unread {
		return u.asks("C2", history.OpAcquire, from, to, to-from, 0, history.No)
	}
	released := func(outcome history.Outcome) *unread {
		return held(false).asks("C1", history.OpRelease, 3, 4, 0, 0, outcome)
	}
	for name, test := range map[string]struct {
		u     *unread
		shows []Name
	}{
		"two leases after the last":     {waits(held(false).exits(3, "C1"), 4, 3*s+100*ms), []Name{StuckLock}},
		"called when that was over":     {waits(held(false).exits(3, "C1"), 1100*ms, 3200*ms), []Name{StuckLock}},
		"asleep since a lease ran":      {waits(held(false).exits(3, "C1"), 4, 3*s), nil},
		"for less than two leases":      {waits(held(false).exits(3, "C1"), 1100*ms, 3*s), nil},
		"without a lease":               {waits(held(true).exits(3, "C1"), 4, 2*s+ms), []Name{StuckLock}},
		"without a lease, for a while":  {waits(held(true).exits(3, "C1"), 4, 2*s), nil},
		"in two tries":                  {waits(waits(held(true).exits(3, "C1"), 4, 5), 5*s, 5*s+1), []Name{StuckLock}},
		"somebody holds it":             {waits(held(false), 4, 9*s), nil},
		"released":                      {waits(released(history.OK), 5, 1100*ms), []Name{Unreleasable}},
		"released, for two leases":      {waits(released(history.OK), 5, 2100*ms), []Name{StuckLock, Unreleasable}},
		"released, for less":            {waits(released(history.OK), 5, s), nil},
		"released, and another holds":   {waits(released(history.OK).asks("C3", history.OpAcquire, 5, 6, 0, 0, history.OK), 7, 5*s), nil},
		"released, and another held":    {waits(released(history.OK).asks("C3", history.OpAcquire, 5, 6, 0, 0, history.OK).exits(7, "C3"), 8, 1100*ms), nil},
		"not released":                  {waits(released(history.No), 5, 1100*ms), nil},
		"a release of unknown outcome":  {waits(released(history.Unknown), 5, 3*s), nil},
		"an acquire of unknown outcome": {waits(opened(false).asks("C1", history.OpAcquire, 1, 2, 0, 0, history.Unknown), 5, 3*s), nil},
		"of one that is dead":           {waits(opened(true).asks("C1", history.OpAcquire, 1, 2, 0, 0, history.Unknown).exits(3, "C1"), 5, 3*s), []Name{StuckLock}},
		"of itself":                     {waits(opened(false).asks("C2", history.OpAcquire, 1, 2, 0, 0, history.Unknown), 5, 3*s), []Name(nil)},
		"granted":                       {held(false).exits(3, "C1").asks("C2", history.OpAcquire, 4, 3*s, 3*s-4, 0, history.OK), nil},
		"never granted":                 {waits(opened(true), 4, 3*s), []Name{StuckLock}},
	} {
		verdict := Judge(test.u.events, Options{Twice: true})
		require.False(t, verdict.CheckerFault, "%s: %s", name, verdict.Reason)
		assert.Equal(t, test.shows, verdict.Names(), "%s: %v", name, verdict)
	}
}

// Two that ask at the same time keep each other from the lock only if neither gets it for longer than two leases.
func TestStuckWhileAnotherAsks(t *testing.T) {
	const s = time.Second
	both := func(until time.Duration) []Name {
		u := new(unread).open("C1", true).open("C2", true)
		u.add(1, history.Event{Kind: history.KindCall, Client: "C1", Op: history.OpAcquire, ID: 7, Detail: &history.Detail{Bound: until}})
		u.add(2, history.Event{Kind: history.KindCall, Client: "C2", Op: history.OpAcquire, ID: 8, Detail: &history.Detail{Bound: until}})
		u.add(until+1, history.Event{Kind: history.KindReturn, Client: "C1", Op: history.OpAcquire, ID: 7, Outcome: history.No})
		u.add(until+2, history.Event{Kind: history.KindReturn, Client: "C2", Op: history.OpAcquire, ID: 8, Outcome: history.No})
		return Judge(u.events, Options{Twice: true}).Names()
	}
	assert.Empty(t, both(s))
	assert.Equal(t, []Name{StuckLock}, both(2*s))
}

// TestValidityUnread: a declaration from the background prolongs the hold from the one before it, and no further.
func TestValidityUnread(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	story := func(second time.Duration) Verdict {
		u := new(unread).open("C1", false).open("C2", false).asks("C1", history.OpAcquire, 0, ms, 0, s, history.OK)
		u.add(600*ms, history.Event{Kind: history.KindValid, Client: "C1", Valid: s})
		u.add(1200*ms, history.Event{Kind: history.KindValid, Client: "C1", Valid: s})
		return Judge(u.asks("C2", history.OpAcquire, second, second+ms, 0, s, history.OK).events, Options{Twice: true})
	}
	assert.Equal(t, []Name{DoubleHolder}, story(1500*ms).Names())
	assert.Equal(t, Safe, story(1700*ms).Kind, "the last declaration can have been made at 0.6 s")
}
