package reproduce

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// queue chooses the story of a lock that was free, and yet refused, because the client that was next in the queue is dead: somebody
// holds the lock, another asks for it and dies, the holder releases it, and the last is refused. It says whether there is such a story.
//
// In the history the dead client may have asked behind others, and died later. What became of these says nothing about the anomaly, so
// it asks and dies while the lock is held.
func (s *selection) queue() bool {
	last := s.last()
	if s.r.anomaly.Name != checker.StuckLock || last == nil || !slices.ContainsFunc(s.r.anomaly.Events, s.r.refusedFree) {
		return false
	}
	for _, dead := range slices.Backward(s.parts) {
		asked, died := s.r.diedWaiting(dead)
		if asked == none || died > int(last.From) {
			continue
		}
		for _, maker := range slices.Backward(s.r.makers) {
			owner := s.byCommand[maker]
			if maker > asked || owner == nil || owner.Outcome != history.OK || history.ProcessOf(owner.Client) == history.ProcessOf(dead.Client) {
				continue
			}
			s.chosen[last], s.chosen[owner], s.chosen[dead] = true, true, true
			if release := s.releases(owner, maker); release != nil {
				s.chosen[release] = true
			}
			owner.plainly, owner.commands = maker, nil
			dead.waits, dead.queues, dead.plainly, dead.commands = true, true, maker+1, []int{asked}
			s.places[died] = dead.plainly
			return true
		}
	}
	return false
}

// releases is how the owner of a lock gave it back that it had acquired by a command; nil if it did not.
func (s *selection) releases(owner *part, maker int) *part {
	for _, p := range s.parts {
		if p.Client == owner.Client && int(p.From) > maker {
			if p.Op == history.OpRelease {
				return p
			}
			if p.Op == history.OpAcquire {
				return nil
			}
		}
	}
	return nil
}

// refusedFree says whether an event is a command of an acquire that found no lock, and left none.
func (r *past) refusedFree(i int) bool {
	e := &r.Events[i]
	return e.Kind == history.KindCommand && e.Op == history.OpAcquire && !r.existed(i) && !r.changing[i]
}

// diedWaiting is the first command of an acquire that its client's end has cut off, and where that is in the history; none if it ended
// otherwise, or no server had refused it.
func (r *past) diedWaiting(p *part) (asked, died int) {
	died = min(int(p.To), len(r.Events)-1)
	if p.Op != history.OpAcquire || p.Open || r.Events[died].Kind != history.KindExit {
		return none, none
	}
	for _, i := range p.Commands {
		c := r.Events[i].Command()
		if ownership.RunsScript(c.Args[0]) && !c.ReplyDropped && !c.Failed() && !r.changing[i] && r.ofLock(i) {
			return i, died
		}
	}
	return none, none
}
