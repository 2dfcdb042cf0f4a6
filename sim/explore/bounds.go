package explore

import (
	"time"

	"github.com/locklab/locklab/impls"
)

// What can be explored at most.
const (
	MostClients = mostClients - 1
	MostRounds  = 4
	MostReenter = 3
	MostServers = mostServers
	MostFaults  = 9
	LeastSkew   = time.Millisecond // the model counts in these
	MostSkew    = 20 * time.Minute
)

// Flag is the name of the fault's budget on a command line: the fault, more than one of it.
func (f Fault) Flag() string {
	switch f {
	case Crash:
		return "crashes"
	case LostReply:
		return "lost-replies"
	case ClockAhead:
		return "clocks-ahead"
	case ClockBehind:
		return "clocks-behind"
	}
	return f.String() + "s"
}

// Usual is what is explored of a lock where nobody asks for anything else. A broken lock is found to be broken at once then: with each
// client more, and with each server, there are many times as many ways.
func Usual(lock impls.Spec) Config {
	c := Config{Lock: lock, Clients: 3, Rounds: 1, MostFaults: 2}
	if lock.Servers > 1 {
		c.Clients, c.Servers = 2, min(lock.Servers, 3)
	}
	for f := range c.Budget {
		c.Budget[f] = uint8(c.MostFaults)
	}
	return c
}
