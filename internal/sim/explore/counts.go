package explore

import (
	"errors"

	"github.com/locklab/locklab/history"
)

// A lock may count in its own key, such as by an INCR that grants the lock if it is answered 1. Each refused try then leaves another number behind, and
// may come to something else, for ever.

// mostCounts is how far acquires count in the search.
const mostCounts = 5

// errCounted: where this happens the search goes no further, and is not complete.
var errCounted = errors.New("acquires counted the number under the lock's key beyond 5")

// countsOn says whether a move has counted the number under a server's key further than the search follows.
func (x *explorer) countsOn(s, next *state) bool {
	for i := range x.serverCount {
		if s.servers[i] == next.servers[i] {
			continue
		}
		was, is := x.servers.States[s.servers[i]].Count, x.servers.States[next.servers[i]].Count
		if was != 0 && (is > mostCounts && is == was+1 || is < -mostCounts && is == was-1) {
			return true
		}
	}
	return false
}

// counts says whether a request that replaced what is under the lock's key only counted, and whether there is more time left than before.
func (x *explorer) counts(request uint32, was, is history.State) (counts, prolongs bool) {
	commands := x.texts.Requests[request].Commands
	return history.Change{Before: was, After: is}.CountedBy(commands[len(commands)-1], 0)
}
