package scenarios

import (
	"fmt"
	"slices"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// actor is the state of a client, or of a further handle in its process, at a point of a script. Lines are zero if the state does not apply.
type actor struct {
	name     string
	host     *host
	beside   []*actor // the others that its thread uses
	appeared bool
	acquired bool // it has tried to
	died     int
	pending  *Step // the operation in flight
	// ahead are the breakpoints that the pending operation has not reached.
	ahead []faults.Breakpoint
	// unseen: the pending operation is in the background, and its progress unknown.
	unseen bool
	held   bool              // a request or reply is held on the wire
	heldAt faults.Breakpoint // by this breakpoint
	late   int               // requests for which no operation waits are held: cancelled ones, and copies
	breaks int               // host.breaks when the pending operation began
}

// host is the process of one or several actors.
type host struct {
	name    string
	crashed int
	paused  int
	links   []link
	breaks  int // how often its connections have been broken
}

// link is a client's link to a lock server, with its fault.
type link struct {
	server string // "" if the script does not say how many there are
	linkFault
}

// linkFault is the fault of a link, and the line on which it began.
type linkFault struct {
	line int
	kind faults.Kind
}

func (a *actor) act(step Step) error {
	a.appeared = true
	h := a.host
	if h.crashed > 0 {
		return fmt.Errorf("%s crashed on line %d and does nothing any more", h.name, h.crashed)
	}
	if OfProcess(step.Verb) {
		if a.name != h.name {
			what := step.Verb
			return fmt.Errorf("%s is a handle in the process of %s, and only the process as a whole can '%s'; write '%s %s'", a.name, h.name, what, h.name, what)
		}
		return h.act(step)
	}
	if h.paused > 0 && !(step.Verb == VerbContinue && (a.replyIsHeldToo() || a.held && step.Async)) {
		return fmt.Errorf("%s has been paused since line %d and can do nothing; put '%s resume' before", h.name, h.paused, h.name)
	}
	if a.died > 0 {
		return fmt.Errorf("the thread of %s died on line %d and does nothing any more", a.name, a.died)
	}
	return a.operate(step)
}

// operate follows a step of a client that is neither paused nor dead.
func (a *actor) operate(step Step) error {
	switch step.Verb {
	case VerbOp:
		return a.start(step)
	case VerbAwait:
		return a.await()
	case VerbContinue:
		return a.goOn(step.Async)
	case VerbArrives:
		if a.late == 0 {
			return fmt.Errorf("nothing of %s is late; a request that was held and then given up is, or a copy", a.name)
		}
		a.late--
	case VerbTimesOut:
		return a.timeOut()
	case VerbGiveUp:
		return a.giveUp()
	case VerbWaits:
		if !a.unseen || a.pending.Op != history.OpAcquire {
			return fmt.Errorf("%s waits for nothing here; an 'acquire within 10s in background' comes first", a.name)
		}
	case VerbWaitsLost:
		if !a.acquired {
			return fmt.Errorf("%s has acquired nothing, so it loses nothing", a.name)
		}
	case VerbTakesIn:
		return a.takeIn()
	case VerbThreadDies:
		return a.die(step)
	case VerbRenews:
		return a.renews()
	}
	return nil
}

// OfProcess says whether a verb concerns a process rather than one of the locks in it.
func OfProcess(v Verb) bool { return v != VerbOp && slices.Contains(processVerbs(), v) }

var processVerbs = sync.OnceValue(func() (all []Verb) {
	for _, f := range faults.All() {
		if f.Target == faults.OnProcess || f.Target == faults.OnClock || f.Target == faults.OnLink {
			all = append(all, Verb(f.Begins), Verb(f.Ends))
		}
	}
	return all
})

// ofLink says whether a verb begins or ends a fault of a client's links.
func ofLink(v Verb) bool {
	f, _ := faults.BegunBy(string(v))
	return f.Target == faults.OnLink || v == VerbHeal
}

func (h *host) act(step Step) error {
	switch step.Verb {
	case VerbResume:
		if h.paused == 0 {
			return fmt.Errorf("%s is not paused", h.name)
		}
		h.paused = 0
		return nil
	case VerbCrash:
		*h = host{name: h.name, crashed: step.Line, links: linksTo(0)}
		return nil
	}
	if ofLink(step.Verb) {
		return h.onLink(step)
	}
	if h.paused > 0 {
		return fmt.Errorf("%s has been paused since line %d and can do nothing; put '%s resume' before", h.name, h.paused, h.name)
	}
	if step.Verb == VerbPause {
		h.paused = step.Line
	}
	return nil
}

func (h *host) onLink(step Step) error {
	fault, _ := faults.BegunBy(string(step.Verb))
	healed, lost := false, false
	for i := range h.links {
		l := &h.links[i]
		named := len(step.Servers) == 0 || slices.Contains(step.Servers, l.server)
		switch {
		case !named:
		case step.Verb != VerbHeal && l.line > 0 && len(h.links) > 1:
			return fmt.Errorf("%s's link to %s has a fault since line %d; '%s heal %s' comes first", h.name, l.server, l.line, h.name, l.server)
		case step.Verb != VerbHeal:
			l.linkFault = linkFault{step.Line, fault.Kind}
		case l.line == 0 && len(step.Servers) > 0:
			return fmt.Errorf("there is nothing to heal; %s's link to %s has no fault", h.name, l.server)
		default:
			healed = healed || l.line > 0
			lost = lost || l.kind == faults.ReplyLost
			l.linkFault = linkFault{}
		}
	}
	if step.Verb == VerbHeal && !healed {
		return fmt.Errorf("there is nothing to heal; %s's link has no fault", h.name)
	}
	if fault.Kind == faults.Refuse || lost { // a TCP connection that has lost bytes cannot continue
		h.breaks++
	}
	return nil
}

// linksTo are links without faults to the servers of a script; one if it does not count them.
func linksTo(servers int) []link {
	links := make([]link, max(1, servers))
	for i, name := range ServerNames(servers) {
		links[i].server = name
	}
	return links
}

// end complains about what the script leaves open.
func (h *host) end(wrong *complaints) {
	if h.paused > 0 {
		wrong.add(h.paused, "%s is still paused at the end; add '%s resume' or '%s crash'", h.name, h.name, h.name)
	}
	if i := slices.IndexFunc(h.links, func(l link) bool { return l.line > 0 && !l.kind.Of().Mild }); i >= 0 {
		wrong.add(h.links[i].line, "%s's link still has the fault %s at the end; add '%s heal'", h.name, h.links[i].kind, h.name)
	}
}

// renews holds a background renewal.
func (a *actor) renews() error {
	switch {
	case a.pending != nil:
		return fmt.Errorf("%s's operation of line %d is still under way; %s", a.name, a.pending.Line, a.wayOn())
	case a.held:
		return fmt.Errorf("something of %s is held already; '%s continue' comes first", a.name, a.name)
	case !a.acquired:
		return fmt.Errorf("%s has acquired nothing, so it renews nothing", a.name)
	}
	a.held = true
	return nil
}

// takeIn has the background tasks take in the replies that they wait for.
func (a *actor) takeIn() error {
	switch {
	case !a.acquired:
		return fmt.Errorf("%s has acquired nothing, so nothing in the background waits for a reply", a.name)
	case a.held && a.pending == nil:
		return fmt.Errorf("what %s waits for is held; '%s continue' comes first", a.name, a.name)
	}
	return nil
}

func (a *actor) die(step Step) error {
	if a.pending != nil {
		return fmt.Errorf("%s's operation of line %d is still under way; %s", a.name, a.pending.Line, a.wayOn())
	}
	if len(a.beside) > 0 {
		return fmt.Errorf("the thread of %s uses %s, too, and only a thread with one lock can die; give one of them a thread of its own, as in %s/2", a.name, a.beside[0].name, a.host.name)
	}
	a.died = step.Line
	return nil
}

func (a *actor) start(step Step) error {
	if a.pending != nil {
		return fmt.Errorf("%s's operation of line %d is still under way; %s", a.name, a.pending.Line, a.wayOn())
	}
	if i := slices.IndexFunc(a.beside, func(other *actor) bool { return other.pending != nil }); i >= 0 {
		return fmt.Errorf("%s is used by the thread of %s, whose operation of line %d is still under way; give it a thread of its own, as in %s/2",
			a.name, a.beside[i].name, a.beside[i].pending.Line, a.name)
	}
	if step.Op == history.OpAcquire {
		a.acquired = true
	}
	switch {
	case a.acquired || step.Anyway:
	case step.Op == history.OpRelease:
		return fmt.Errorf("%s has acquired nothing; write '%s release anyway' to release all the same", a.name, a.name)
	default:
		return fmt.Errorf("%s has acquired nothing, so this step would always be skipped", a.name)
	}
	if a.held && len(step.Breakpoints) > 0 {
		return fmt.Errorf("something of %s is held, and only one thing can be; '%s continue' comes first", a.name, a.name)
	}
	a.pending, a.ahead, a.unseen, a.breaks = &step, step.Breakpoints, step.Async, a.host.breaks
	if !a.unseen {
		a.run()
	}
	return nil
}

// run advances the pending operation to the next breakpoint that holds it, to its last, or to its end.
func (a *actor) run() {
	waits := false
	for len(a.ahead) > 0 {
		at := a.ahead[0]
		a.ahead = a.ahead[1:]
		if at.Action.Stops() {
			a.held, a.heldAt = true, at
			return
		}
		if at.Action == faults.ActHoldCopy {
			a.late++
		}
		waits = at.Action == faults.ActDropReply
	}
	if !waits {
		a.pending = nil
	}
}

func (a *actor) await() error {
	switch {
	case a.pending == nil:
		return fmt.Errorf("%s has nothing under way to wait for; an operation 'in background' comes first", a.name)
	case a.unseen:
		a.unseen = false
		a.run()
	case a.held && a.host.breaks > a.breaks:
		a.breaks = a.host.breaks
		return a.goOnWithout()
	case a.held:
		return fmt.Errorf("%s's operation of line %d is held up and will not end by itself; write '%s continue'", a.name, a.pending.Line, a.name)
	default:
		a.pending = nil
	}
	return nil
}

func (a *actor) timeOut() error {
	if a.pending == nil || !a.held {
		return fmt.Errorf("%s waits for nothing that is held; a breakpoint such as 'hold before first SET' comes first", a.name)
	}
	return a.goOnWithout()
}

// goOnWithout: the operation continues without the held request, which may still arrive.
func (a *actor) goOnWithout() error {
	if a.heldAt.Action == faults.ActHoldRequest {
		a.late++
	}
	a.held = false
	a.run()
	return nil
}

func (a *actor) goOn(inBackground bool) error {
	switch {
	case a.unseen:
		return fmt.Errorf("it is not known yet whether %s is held up; write '%s await => held-up' first", a.name, a.name)
	case !a.held && a.late > 0 && !inBackground:
		a.late--
		return nil
	case !a.held && a.late > 0:
		return fmt.Errorf("nothing of %s is under way any more; remove 'in background'", a.name)
	case !a.held:
		return fmt.Errorf("nothing of %s is held here; a breakpoint such as 'hold before first DEL' comes first", a.name)
	}
	a.held = false
	switch {
	case a.pending == nil && inBackground:
		return fmt.Errorf("nothing of %s is under way any more; remove 'in background'", a.name)
	case inBackground:
		a.unseen = true
	case a.pending != nil:
		a.run()
	}
	return nil
}

// replyIsHeldToo says whether a breakpoint also holds the reply to the held request, so that the client cannot observe its release.
func (a *actor) replyIsHeldToo() bool {
	if !a.held || a.heldAt.Action != faults.ActHoldRequest || len(a.ahead) == 0 {
		return false
	}
	reply := a.heldAt
	reply.Action = faults.ActHoldReply
	return a.ahead[0] == reply
}

func (a *actor) giveUp() error {
	if a.pending == nil {
		return fmt.Errorf("%s has nothing under way to give up", a.name)
	}
	for _, at := range a.ahead {
		a.held = a.held || at.Action != faults.ActDropReply && at.Action != faults.ActDuplicate
	}
	if a.held {
		a.late++
	}
	a.pending, a.ahead, a.unseen, a.held = nil, nil, false, false
	return nil
}

// wayOn names the steps that end the pending operation.
func (a *actor) wayOn() string {
	if a.held {
		return fmt.Sprintf("'%s continue' or '%s give up' comes first", a.name, a.name)
	}
	return fmt.Sprintf("'%s await' or '%s give up' comes first", a.name, a.name)
}

// end complains about what the script leaves open.
func (a *actor) end(s *Script, wrong *complaints) {
	if a.name == a.host.name {
		a.host.end(wrong)
	}
	if a.pending != nil && a.host.crashed == 0 {
		wrong.add(a.pending.Line, "%s's operation is still under way at the end; %s", a.name, a.wayOn())
	}
	if !a.appeared && !a.hasHandles(s) {
		wrong.add(s.Steps[0].Line, "%s is declared but does nothing; remove it from 'clients'", a.name)
	}
}

// hasHandles says whether an actor is a client with further handles in its process, and so must be declared.
func (a *actor) hasHandles(s *Script) bool { return len(s.HandlesOf(a.name)) > 0 }
