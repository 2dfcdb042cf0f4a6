package storm

import "time"

// Turn is what a client does in one round: ask for the lock, work, give it back, and rest.
type Turn struct {
	Within   time.Duration // it tries for so long; zero: once
	Patience time.Duration // after which it gives up an operation that is not answered
	Hold     time.Duration // how long it keeps the lock
	Long     time.Duration // how long it keeps a lock that renews itself; zero: as any other
	Works    int           // updates that it makes meanwhile
	Check    bool          // it asks whether it still has the lock, where the lock can be asked
	Renewals int           // before its updates it renews the lock so often, a third of a lease after each other, where it can
	Rest     time.Duration
}

// Turns are the choices of a client. They depend on the seed and on the client, not on how long the turns take.
type Turns struct {
	d        dice
	renewals dice
	p        Params
}

// Turns are the turns of a client by its name.
func (p *Plan) Turns(client string) *Turns {
	return &Turns{p.dice("turns of " + client), p.dice("renewals of " + client), p.Params}
}

// mostRenewals keeps a lock for more than a lease, so that it is lost unless it is renewed.
const mostRenewals = 4

// Next draws the next turn.
func (t *Turns) Next() Turn {
	lease := t.p.Lease
	turn := Turn{
		Patience: 2 * lease,
		Hold:     time.Duration(t.d.Float64() * float64(t.p.Work)).Round(time.Millisecond),
		Works:    1 + t.d.IntN(2),
		Check:    t.d.IntN(3) == 0,
		Rest:     t.d.between(lease, 0, 0.1),
	}
	// What an acquire leaves behind that was answered no shows only to others who come before the lease is over: half of them are answered soon.
	if t.d.IntN(2) > 0 {
		turn.Within = t.d.between(lease, 0.3, 2.5)
	}
	if t.d.IntN(6) == 0 {
		turn.Patience = t.d.between(lease, 0.2, 0.6)
	}
	if t.d.IntN(3) > 0 {
		turn.Long = t.d.between(lease, 1.5, 2.1)
	}
	if t.renewals.IntN(2) == 0 { // by dice of their own: the storms of other locks stay what they were
		turn.Renewals = 1 + t.renewals.IntN(mostRenewals)
	}
	return turn
}
