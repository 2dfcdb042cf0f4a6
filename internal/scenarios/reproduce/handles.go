package reproduce

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// mostSiblings bounds what other handles may do in a story.
const mostSiblings = 24

// siblings adds what other handles of the anomaly's processes did while the story happened, the latest first. What came to nothing for
// want of a reply is left out.
func (s *selection) siblings() {
	processes := map[string]bool{}
	for _, client := range s.r.anomaly.Clients {
		processes[history.ProcessOf(client)] = true
	}
	hangs := s.r.anomaly.Name == checker.HungOperation // only who waits can have a part in that
	last := s.last()
	later := map[string]bool{} // who has something to do after this
	added := 0
	for _, p := range slices.Backward(s.parts) {
		if p.To < float64(s.from) || int(p.From) > s.to {
			continue
		}
		if p != last && !s.chosen[p] && processes[history.ProcessOf(p.Client)] && added < mostSiblings {
			outlasts := outlasts(p, last) && !later[p.Client]
			if outlasts && last.Op != history.OpAcquire {
				p.waits, p.plainly = true, int(last.From)-1
			}
			if s.chosen[p] = outlasts || !hangs && p.Outcome != history.Unknown && s.began(p); s.chosen[p] {
				added++
			}
		}
		later[p.Client] = later[p.Client] || s.chosen[p]
	}
}

// outlasts says whether a client was trying to acquire before another operation was called, and still was when that was under way.
func outlasts(p, last *part) bool {
	return last != nil && p.Op == history.OpAcquire && p.From < last.From && p.To > last.From
}

// last is the operation that shows the anomaly in the end; nil if none does.
func (s *selection) last() *part {
	return s.at(s.r.anomaly.Events[len(s.r.anomaly.Events)-1])
}

// began says whether an operation is an acquire, or of a hold that began in the story.
func (s *selection) began(p *part) bool {
	if p.Op == history.OpAcquire {
		return true
	}
	taken := s.grant(p.Client, int(p.From))
	return taken != nil && len(taken.commands) > 0 && taken.commands[0] >= s.from
}
