package tap

import (
	"fmt"
	"sync/atomic"
	"time"
)

// checks is how often the watchdog looks within the tap's patience. It counts looks, not time: while the host stalls it does not look.
const checks = 10

// watchdog notices a command that keeps the server busy, such as an endless script. The holder of the turn begins and ends.
type watchdog struct {
	turns  atomic.Int64
	holder atomic.Pointer[command] // which has the turn; nil: none
}

// command is one that is on its way to the server, or there.
type command struct{ client, name string }

func (w *watchdog) begin(client, name string) {
	w.turns.Add(1)
	w.holder.Store(&command{client, name})
}

func (w *watchdog) end() { w.holder.Store(nil) }

// watch looks as often as makes up the tap's patience.
func (t *Tap) watch() {
	tick := time.NewTicker(max(t.cfg.Patience/checks, time.Millisecond))
	defer tick.Stop()
	t.look(tick.C)
}

// look fails the tap when one command has the turn for too many looks.
func (t *Tap) look(now <-chan time.Time) {
	var last int64
	same := 0
	for {
		select {
		case <-now:
		case <-t.ctx.Done():
			return
		}
		c, turn := t.watchdog.holder.Load(), t.watchdog.turns.Load()
		if c == nil || turn != last {
			last, same = turn, 0
			continue
		}
		if same++; same >= checks {
			t.fail(fmt.Errorf("tap: %s did not answer %s's %s within %v", t.cfg.Server, c.client, c.name, t.cfg.Patience))
			return
		}
	}
}
