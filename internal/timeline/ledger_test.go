package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// settled is a ledger after an acquire has returned: client 1 is the owner by acquire 1, and clients 2, 3 and 4 have replaced its value since, each by the
// acquire of the same number.
func settled(o Operation) Ledger {
	claim := func(n int) Claim { return Claim{Client: n, Op: int64(n), Command: 10 * n, Ends: time.Second} }
	l := Ledger{Owner: claim(1), Challengers: []Claim{claim(2), claim(3), claim(4)}}
	l.settle(o)
	return l
}

func challengers(l Ledger) (clients []int) {
	for _, c := range l.Challengers {
		clients = append(clients, c.Client)
	}
	return clients
}

// TestSettle: what an acquire came to decides whose the lock is that several have written.
func TestSettle(t *testing.T) {
	back := Operation{ID: 3, Client: 3, Outcome: history.OK, Returned: 50, ReturnedAt: 5 * time.Millisecond}
	l := settled(back)
	assert.Equal(t, Claim{
		Client: 3, Op: 3, Command: 30, Ends: time.Second, Sure: time.Second, Standing: Granted, Settled: 50, SettledAt: 5 * time.Millisecond,
	}, l.Owner)
	assert.Equal(t, []int{4}, challengers(l), "the value of an earlier one had been replaced, that of a later one has not")

	back.Outcome = history.No
	l = settled(back)
	assert.Equal(t, 1, l.Owner.Client)
	assert.Equal(t, []int{2, 4}, challengers(l))

	back.ID, back.Client = 1, 1
	assert.Equal(t, Refused, settled(back).Owner.Standing)
	back.Outcome = history.Unknown
	l = settled(back)
	assert.Equal(t, Dubious, l.Owner.Standing)
	assert.Zero(t, l.Owner.Sure)
	assert.Equal(t, []int{2, 3, 4}, challengers(l))
	back.GaveUp = true
	assert.Equal(t, Refused, settled(back).Owner.Standing, "nobody waits for it any more")

	back.ID, back.Client = 7, 7
	assert.Equal(t, Pending, settled(back).Owner.Standing)
	assert.Equal(t, []int{2, 3, 4}, challengers(settled(back)))
}

// TestLeased: a lease counts as running while more than the margin is left.
func TestLeased(t *testing.T) {
	c := Claim{Lease: time.Second, Ends: time.Second}
	assert.True(t, c.Leased(979*time.Millisecond))
	assert.False(t, c.Leased(980*time.Millisecond))
	c.Ends = Never
	assert.True(t, c.Leased(1000*time.Hour))
}

// TestApply: an owner that puts its value in the place of others' has the lock for another lease, and what is removed is no older lock any more.
func TestApply(t *testing.T) {
	here := history.State{Type: "string", Value: "mine"}
	l := Ledger{There: true, Owner: Claim{Client: 1, Ends: time.Second}, Challengers: []Claim{{Client: 2}}}
	l.apply(history.Change{Before: here, After: here}, ownership.Command{Effect: history.EffectReplaced, ByOwner: true, Live: true}, Claim{Client: 1, Ends: 2 * time.Second})
	assert.Equal(t, Claim{Client: 1, Ends: 2 * time.Second}, l.Owner)
	assert.Empty(t, l.Challengers)

	l.Foreign = true
	l.apply(history.Change{Before: here}, ownership.Command{Effect: history.EffectRemoved, Foreign: true}, Claim{})
	assert.False(t, l.Foreign)
	assert.Equal(t, 1, l.Owner.Client)
}
