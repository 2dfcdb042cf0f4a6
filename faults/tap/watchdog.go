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
	holder atomic.Pointer[session] // whose command has the turn; nil: nobody's
}

func (w *watchdog) begin(s *session) {
	w.turns.Add(1)
	w.holder.Store(s)
}

func (w *watchdog) end() { w.holder.Store(nil) }

// watch fails the tap when one command has the turn for longer than its patience.
func (t *Tap) watch() {
	tick := time.NewTicker(max(t.cfg.Patience/checks, time.Millisecond))
	defer tick.Stop()
	var last int64
	same := 0
	for {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		s, turn := t.watchdog.holder.Load(), t.watchdog.turns.Load()
		if s == nil || turn != last {
			last, same = turn, 0
			continue
		}
		if same++; same >= checks {
			t.fail(fmt.Errorf("tap: %s did not answer %s's %s within %v", t.cfg.Server, s.client, s.lastSent(), t.cfg.Patience))
			return
		}
	}
}

// lastSent is the name of the command that was sent last.
func (s *session) lastSent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}
