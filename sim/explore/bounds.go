package explore

import (
	"cmp"
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

// Usual is what is explored of a lock where nobody asks for anything else. A broken lock is found to be broken at once then: with each
// client more, and with each server, there are many times as many ways.
func Usual(lock impls.Spec) Config {
	c := Config{Lock: lock, Clients: 3, Rounds: 1, MostFaults: 2}
	if lock.Servers > 1 {
		c.Clients, c.Servers = 2, min(lock.Servers, 3)
	}
	c.Budget = Any(c.MostFaults)
	return c
}

// ServerCount is how many servers there are in the search.
func (c Config) ServerCount() int { return cmp.Or(c.Servers, max(c.Lock.Servers, 1)) }
