package reproduce

import (
	"errors"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
)

// reader goes through the steps of a trace and the events that belong to them.
type reader struct {
	rest       []history.Event
	operations map[int64]*operation
	open       map[int]*operation // by client
	learned    []int64            // see trace.Trace
	uncounted  map[int]bool       // the client's next reply is to a request that does not count
	at         int                // the step that is read
}

// take takes the next event if it is of a kind.
func (r *reader) take(kinds ...history.Kind) []history.Event {
	if len(r.rest) == 0 || !slices.Contains(kinds, r.rest[0].Kind) {
		return nil
	}
	taken := r.rest[:1:1]
	r.rest = r.rest[1:]
	return taken
}

var (
	errNoOperation = errors.New("its client has no operation under way")
	errNoEvent     = errors.New("its event comes elsewhere in the history")
)

// read makes a moment of a step; nil: it has no place of its own.
func (r *reader) read(step *trace.Step) (*moment, error) {
	b := &moment{kind: step.Kind, step: step, who: step.Client, server: nowhere}
	switch step.Kind {
	case trace.Call:
		b.events = r.take(history.KindCall)
		b.operation = &operation{op: step.Op, beside: step.Waits, bound: step.Passed}
		r.operations[step.ID], r.open[step.Client] = b.operation, b.operation
	case trace.Return:
		return r.returned(b)
	case trace.Serve, trace.Arrive:
		return r.request(b)
	case trace.Reply:
		if step.Beside || r.uncounted[step.Client] {
			r.uncounted[step.Client] = r.uncounted[step.Client] && step.Beside
			return nil, nil
		}
		return b, r.lastRequest(b)
	case trace.Fault:
		return b, r.fault(b)
	case trace.Time:
		b.who = nobody
	case trace.Heal:
		b.events = r.take(history.KindFault)
	case trace.Notice:
		if b.events = r.take(history.KindLost, history.KindValid); b.events == nil {
			return nil, nil // what a ZooKeeper has done to a node or a session
		}
	case trace.Expire:
		return b, r.timedOut(b)
	case trace.Break:
		if err := r.timedOut(b); err != nil {
			return nil, err
		}
		if b.server = step.Server; b.operation != nil {
			b.operation.faulted = true
		}
	default:
		return nil, nil
	}
	return b, nil
}

// lastRequest notes that a moment is about the latest request of the operation under way.
func (r *reader) lastRequest(b *moment) error {
	b.operation = r.open[b.step.Client]
	if b.operation == nil {
		return errNoOperation
	}
	b.request = len(b.operation.requests) - 1
	return nil
}

// returned notes the end of an operation, or that it goes on.
func (r *reader) returned(b *moment) (*moment, error) {
	d, step := r.open[b.step.Client], b.step
	if d == nil {
		return nil, errNoOperation
	}
	if step.Retries {
		d.waits = true
		return nil, nil
	}
	if b.events = r.take(history.KindReturn); len(b.events) == 0 {
		return nil, errNoEvent
	}
	b.operation = d
	d.returned, d.outcome = true, step.Answer.Outcome
	d.learned = slices.Contains(r.learned, step.ID)
	d.hung = step.Op == history.OpRelease && !d.faulted && b.events[0].Detail != nil && b.events[0].Detail.GaveUp
	delete(r.open, step.Client)
	return b, nil
}

// request notes a request that has reached a server.
func (r *reader) request(b *moment) (*moment, error) {
	if !r.recorded(b.step) {
		b.server, b.changes = b.step.Server, changes(&history.Command{Args: b.step.Request[len(b.step.Request)-1]})
		r.uncount(b)
		if d := r.operations[b.step.ID]; d != nil && b.kind == trace.Serve && !b.step.Beside && !unloaded(b.step) {
			d.asides = append(d.asides, asideOf(r.at, b.step, b.changes))
		}
		return nil, nil
	}
	if b.events = r.take(history.KindCommand); len(b.events) == 0 {
		return nil, errNoEvent
	}
	b.server, b.changes = b.step.Server, changes(b.events[0].Command())
	if !counts(b.step) {
		r.uncount(b)
		return nil, nil
	}
	r.served(b)
	return b, nil
}

// recorded says whether a request has an event. The explorer's history has none of one that does not name the lock, a storm's has.
func (r *reader) recorded(step *trace.Step) bool {
	if len(step.Request) == 0 || slices.ContainsFunc(step.Request, namesKey) {
		return true
	}
	next := r.rest
	return len(next) > 0 && next[0].Kind == history.KindCommand && slices.Equal(next[0].Command().Args, step.Request[len(step.Request)-1])
}

// uncount notes a request that breakpoints do not count.
func (r *reader) uncount(b *moment) {
	if d := r.operations[b.step.ID]; d != nil {
		d.aside = d.aside || b.changes && !unloaded(b.step)
	}
	r.uncounted[b.step.Client] = b.step.Kind == trace.Serve && !b.step.Beside
}

// served notes a request with its operation.
func (r *reader) served(b *moment) {
	d := r.operations[b.step.ID]
	if d == nil || b.kind == trace.Arrive {
		return
	}
	b.operation, b.request = d, len(d.requests)
	own := asideOf(r.at, b.step, true)
	b.own = &own
	d.requests = append(d.requests, b.step)
	d.changed = d.changed || b.changes
}

// timedOut notes what an operation has stopped waiting for.
func (r *reader) timedOut(b *moment) error {
	b.server = nowhere
	if b.step.Beside || r.uncounted[b.step.Client] {
		return nil
	}
	if d := r.open[b.step.Client]; d != nil && b.step.Request != nil {
		d.requests = append(d.requests, b.step)
	}
	return r.lastRequest(b)
}

func (r *reader) fault(b *moment) error {
	b.events = r.take(history.KindFault)
	who := b.step.Client
	switch b.step.Fault {
	case faults.Crash:
		b.events = slices.Concat(b.events, r.take(history.KindExit))
		delete(r.open, who)
	case faults.ReplyLost, faults.LateRequest, faults.Duplicate:
		d := r.open[who]
		if b.step.Beside {
			return nil
		}
		if d == nil {
			return errNoOperation
		}
		d.faulted = true
		d.lost = d.lost || b.step.Waits && b.step.Fault != faults.Duplicate
		if b.step.Fault == faults.LateRequest {
			d.requests = append(d.requests, b.step)
		}
		return r.lastRequest(b)
	case faults.ClockJump, faults.ClockBack, faults.Restart, faults.FailOver:
		b.who, b.server, b.changes = nobody, b.step.Server, true
	}
	return nil
}

// change is what a command has done to the lock.
func (b *moment) change() (history.Change, bool) {
	changes := b.events[0].Command().Changes
	if len(changes) == 0 {
		return history.Change{}, false
	}
	return changes[0], true
}

// changes says whether a command may have changed what is on its server. A script with several keys may change those that are not
// the lock's.
func changes(c *history.Command) bool {
	name := nameOf(c.Args)
	if len(c.Changes) == 0 {
		return name != "GET" && name != "WATCH"
	}
	switch name {
	case "EVAL":
		if len(c.Args) > 2 && c.Args[2] != "1" {
			return true
		}
	case "EXPIRE", "PEXPIRE":
		return c.Reply == "1"
	case "CREATE", "DELETE": // of a node that is not the first, too
		return true
	}
	return c.Changes[0].Before != c.Changes[0].After
}

// nameOf is a command's name as scripts write it.
func nameOf(command []string) string {
	if name := strings.ToUpper(command[0]); name != "EVALSHA" {
		return name
	}
	return "EVAL"
}
