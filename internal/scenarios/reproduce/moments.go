package reproduce

import (
	"cmp"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
)

// happening is a part of an operation, or a fault of a client or a server.
type happening struct {
	at    int // its event
	part  *part
	kind  trace.Kind
	place int // the event at which it comes
}

// moments are what happens in the story, in order.
func (s *story) moments() []happening {
	var all []happening
	r := s.past
	from, to := len(r.Events), 0
	for _, p := range s.parts {
		for _, h := range r.of(p) {
			all = append(all, h)
			from, to = min(from, h.at), max(to, h.at)
		}
	}
	clocks := map[string]int{} // by process: its clock is wrong when the story begins
	for i := range min(to+1, len(r.Events)) {
		h, ok := r.beside(i, from, s.cast)
		if f := r.Events[i].Fault(); ok && f != nil && i < from {
			if clocks[f.Target] = i; f.What == faults.RightClock {
				delete(clocks, f.Target)
			}
		} else if ok {
			if place, moved := s.places[i]; moved {
				h.place = place
			}
			all = append(all, s.beforeItsLook(h))
		}
	}
	for _, i := range clocks {
		all = append(all, happening{i, nil, trace.Fault, i})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Or(a.place-b.place, a.rank()-b.rank()) })
	return all
}

// rank orders what comes at the same place: a client calls, and joins a queue, before a fault strikes.
func (h happening) rank() int {
	switch {
	case h.kind == trace.Call, h.part != nil && h.part.queues:
		return -2
	case h.kind == trace.Fault:
		return -1
	}
	return 0
}

// beforeItsLook moves a clock that becomes wrong amid an operation of its process to before the operation's last command: a client
// reads its clock after the reply to what it sent, and the history does not say when.
func (s *story) beforeItsLook(h happening) happening {
	f := s.past.Events[h.at].Fault()
	if f == nil || faults.Kind(f.Name).Of().Kind != faults.Skew {
		return h
	}
	at := h.at
	for _, p := range s.parts {
		if history.ProcessOf(p.Client) != f.Target || p.To < float64(at) {
			continue
		}
		if n, _ := slices.BinarySearch(p.commands, at); n > 0 && n < len(p.commands) {
			h.place = min(h.place, p.commands[n-1])
		}
	}
	return h
}

// of are the moments of an operation.
func (r *past) of(p *part) []happening {
	returned := !p.Open && r.Events[min(int(p.To), len(r.Events)-1)].Kind == history.KindReturn
	begins, ends := int(p.From), int(p.To)
	switch acquires := p.Op == history.OpAcquire; {
	case p.waits:
		all := []happening{{begins, p, trace.Call, p.plainly}}
		if p.queues {
			all = append(all, happening{p.commands[0], p, trace.Serve, p.plainly})
		}
		return all
	case p.plainly != none && !returned: // its client's end has cut it off
		return []happening{{p.plainly, p, trace.Call, p.plainly}, {p.plainly, p, trace.Serve, p.plainly}}
	case p.plainly != none:
		return []happening{{p.plainly, p, trace.Call, p.plainly}, {p.plainly, p, trace.Return, p.plainly}}
	case acquires && len(p.commands) > 0 && float64(p.commands[0]) < p.To:
		begins = p.commands[0] // its earlier tries are left out
	case acquires && returned && len(p.commands) == 0: // nothing of it can be held, so it is one moment
		begins = ends
	case !acquires && len(p.commands) == 0:
		ends = begins
	}
	all := []happening{{begins, p, trace.Call, begins}}
	for _, i := range p.commands {
		all = append(all, p.served(i, returned, ends))
	}
	if returned {
		all = append(all, happening{ends, p, trace.Return, ends})
	}
	return all
}

// served is a command of an operation.
func (p *part) served(i int, returned bool, ends int) happening {
	switch late := returned && float64(i) > p.To; {
	case late && p.Outcome == history.Unknown:
		return happening{i, p, trace.Arrive, i}
	case late: // it was answered without this server, which is asked in time instead
		return happening{i, p, trace.Serve, ends}
	}
	return happening{i, p, trace.Serve, i}
}

// beside is what an event means that belongs to no operation.
func (r *past) beside(i, from int, cast map[string]bool) (happening, bool) {
	e := &r.Events[i]
	switch e.Kind {
	case history.KindExit:
		return happening{i, nil, trace.Fault, i}, cast[e.Client] && i > from
	case history.KindLost, history.KindValid:
		return happening{i, nil, trace.Notice, i}, cast[e.Client] && i > from
	case history.KindCommand:
		return happening{i, nil, trace.Serve, i}, i > from && cast[e.Client] && slices.Contains(r.anomaly.Events, i) && r.lock.Renews && r.renews(i)
	case history.KindFault:
		f := e.Fault()
		if f == nil || f.Phase != history.PhaseInject {
			break
		}
		switch kind := faults.Kind(f.Name).Of().Kind; {
		case kind == faults.Skew:
			return happening{i, nil, trace.Fault, i}, slices.ContainsFunc(r.Clients, func(c string) bool { return cast[c] && history.ProcessOf(c) == f.Target })
		case kind.OnServer():
			return happening{i, nil, trace.Fault, i}, i > from
		}
	}
	return happening{}, false
}
