package supervise

import (
	"os"
	"sync"
)

// The ways by which a signal comes to the child.
const (
	direct = iota // from the terminal, or from whoever signals the process group, or the child itself
	passed        // sent to the parent
	ways
)

// tally counts signals that come both ways: a Ctrl-C reaches parent and child, a kill the one that it names. Each signal is given on once,
// by the way on which it comes first. It is safe for concurrent use.
type tally struct {
	out chan os.Signal

	mu    sync.Mutex
	seen  [ways]map[os.Signal]int
	given map[os.Signal]int
}

func newTally() *tally {
	return &tally{
		out:   make(chan os.Signal, 16),
		seen:  [ways]map[os.Signal]int{{}, {}},
		given: map[os.Signal]int{},
	}
}

// add counts a signal. One that nobody takes from a full channel is dropped, as package os/signal does.
func (t *tally) add(sig os.Signal, way int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[way][sig]++
	if t.seen[way][sig] <= t.given[sig] {
		return
	}
	t.given[sig]++
	select {
	case t.out <- sig:
	default:
	}
}
