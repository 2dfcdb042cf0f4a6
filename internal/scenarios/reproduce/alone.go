package reproduce

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// alone chooses the operations of the anomaly's clients only: those that show it, how the clients had come to the lock and, where it is
// about data, their work.
func (s *selection) alone() {
	a := s.r.anomaly
	for _, i := range a.Events {
		if client := s.r.Events[i].Client; client != "" {
			s.add(s.at(i))
			s.add(s.grant(client, i))
			s.to = max(s.to, i)
		}
	}
	for _, client := range a.Clients {
		s.add(s.grant(client, s.to))
	}
	for _, p := range s.parts {
		if isOfData(a.Name) && p.Op == history.OpWork && slices.Contains(a.Clients, p.Client) && int(p.From) >= s.from && int(p.From) <= s.to {
			s.chosen[p] = true
		}
		if s.chosen[p] && p.Op == history.OpAcquire {
			p.commands = s.r.gave(p)
		}
	}
}

// gave are the commands that gave an acquire the lock: the last on each server, in their order.
func (r *past) gave(p *part) []int {
	latest := map[string]int{}
	for _, i := range p.Commands {
		if slices.Contains(r.makers, i) {
			latest[r.Events[i].Command().Server] = i
		}
	}
	return slices.DeleteFunc(slices.Clone(p.Commands), func(i int) bool {
		at, known := latest[r.Events[i].Command().Server]
		return !known || at != i
	})
}

// over says whether a lease has to end before a command, and whose. Of a lock on several servers all leases of an owner end together, and
// what clients left there that have no part in the story is not there. Where the owner has the servers that its acquire had asked in vain,
// the lease ends before the first is asked.
func (w *traceWriter) over(h happening) (owner string, over bool) {
	if w.past.servers == 1 {
		owner, over = w.past.lapsed[h.at]
		return owner, over
	}
	commands := []int{h.at}
	if w.past.Alone && h.at == h.part.commands[0] {
		commands = h.part.commands
	}
	for _, at := range commands {
		e := &w.past.Events[at]
		l := w.leased[w.past.server(e.Command().Server)]
		if slices.Contains(w.past.makers, at) && l.owner != "" && l.owner != e.Client && w.now-l.at < w.past.lease {
			return l.owner, true
		}
	}
	return "", false
}

// own notes whose lock a server has, in the schedule.
func (w *traceWriter) own(server int, client string, exists bool) {
	if delete(w.leased, server); exists {
		w.leased[server] = owned{client, w.now}
	}
}

// owned is whose lock a server has, and since when in the schedule.
type owned struct {
	owner string
	at    time.Duration
}
