// Package conform tells a bad adapter from a bad lock: it holds conversations with a foreign client, and says which sentence of the client
// protocol the client breaks.
//
// It owns the checks. It must not know what a sound lock is, nor how processes, links and servers work.
package conform

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// Result is what came of one check.
type Result struct {
	Name    string
	About   string // what is checked
	Breach  *Breach
	Lock    string // what the lock did wrong, which is no fault of its adapter; the rest of the conversation was not held
	Skipped string // why the check does not apply, or could not be decided
}

// Breach is a sentence of the protocol that a client breaks.
type Breach struct {
	Rule string // word for word, as in docs/tables/protocol.md
	What string // what the client did
}

// Check is one conversation.
type Check struct {
	Name, About string
	needs       string        // the optional verb that it is about
	promise     string        // that it is about
	lease       time.Duration // of the lock; zero: one that never ends in a conversation
	clients     int           // two, if not said
	handles     []string      // further ones
	cancels     bool          // it cancels an operation
	wire        bool          // it holds or reads what the client sends to the lock servers
	hold        func(*talk)
}

// Bounds.
const (
	lease    = 30 * time.Second       // of the lock: it never ends in a conversation
	patience = 5 * time.Second        // for an answer that only the client delays
	stalled  = 500 * time.Millisecond // a host stall that leaves a check undecided

	longestWait = 10 * time.Second // for the end of a lease: a check has a minute
)

// Run makes a check in a world.
func (c Check) Run(ctx context.Context, world *live.World, subject play.Subject) (Result, error) {
	out := Result{Name: c.Name, About: c.About, Skipped: c.lacking(subject)}
	if out.Skipped != "" {
		return out, nil
	}
	clients := []string{"C1", "C2"}[:cmp.Or(c.clients, 2)]
	var t *talk
	err := world.Talk(ctx, subject, c.leaseFor(subject), clients, c.handles, "doctor-"+c.Name, func(with *live.Talk) {
		t = &talk{Talk: with, subject: subject, lease: c.leaseFor(subject)}
		for _, client := range clients {
			t.must(t.ask(client, with.Open(client)), protocol.OK, ruleOpen)
		}
		c.hold(t)
		if stall := with.Stall(0); stall > stalled && (t.breach != nil || t.lock != "") {
			t.breach, t.lock, t.skipped = nil, "", fmt.Sprintf("undecided: the host stalled for %v", stall.Round(time.Millisecond))
		}
	})
	if t != nil {
		out.Breach, out.Lock, out.Skipped = t.breach, t.lock, t.skipped
		if err == nil {
			err = t.err
		}
	}
	return out, err
}

// lacking is what a client lacks for a check; empty: nothing.
func (c Check) lacking(subject play.Subject) string {
	switch {
	case c.needs != "" && !subject.Traits.Can(c.needs):
		return fmt.Sprintf("hello does not list the verb %q", c.needs)
	case c.promise != "" && !subject.Promises(c.promise):
		return fmt.Sprintf("hello does not promise %q", c.promise)
	case c.lease > 0 && c.leaseFor(subject) > longestWait:
		return fmt.Sprintf("hello asks for a lease of %v, and the check waits for its end", c.leaseFor(subject))
	case c.cancels && subject.Traits.Library.NoCancel:
		return `hello says "cannot_cancel"`
	case c.wire && subject.Traits.Opaque != "":
		return "the lab does not read what clients send to " + subject.Traits.Opaque
	case len(c.handles) > 0 && !subject.Traits.Separate:
		return `hello does not say "separate"`
	}
	return ""
}

// leaseFor is the lease of a client's lock in a check.
func (c Check) leaseFor(subject play.Subject) time.Duration {
	return max(cmp.Or(c.lease, lease), subject.Spec.MinLease)
}

// talk is a conversation that stops at the first breach: what follows is not carried out, so that a check reads as if all went well.
type talk struct {
	*live.Talk
	subject play.Subject
	lease   time.Duration
	breach  *Breach
	lock    string
	skipped string
	err     error // a failure of the lab
}

func (t *talk) over() bool { return t.breach != nil || t.lock != "" || t.skipped != "" || t.err != nil }

// broken ends the conversation: the client breaks the rule. If its lock has taken another's before, that is why: no adapter could have helped it.
func (t *talk) broken(rule, format string, args ...any) {
	switch taking := t.Traffic().Taking(); {
	case t.over():
	case taking != nil:
		t.byLock("%s's %s %s the lock that %s held", taking.By, taking.Command, taking.Did, taking.From)
	default:
		t.breach = &Breach{rule, fmt.Sprintf(format, args...)}
	}
}

// byLock ends the conversation: the lock does something wrong that its adapter cannot have done.
func (t *talk) byLock(format string, args ...any) {
	if !t.over() {
		t.lock = fmt.Sprintf(format, args...)
	}
}

// lab ends the conversation if the lab failed. A client that ended its run meanwhile has broken a rule, and the lab has not failed.
func (t *talk) lab(err error) {
	switch {
	case err == nil || t.over():
	case t.Departed() != "":
		t.gone(t.Departed())
	default:
		t.err = err
	}
}

// gone ends the conversation: the client's connection ended.
func (t *talk) gone(client string) {
	if !t.over() {
		t.broken(ruleOneAnswer, "%s", t.Gone(client))
	}
}

// pending is a request under way.
type pending struct {
	client string
	req    protocol.Request
	id     int64
	answer <-chan protocol.Message
}

func (p pending) String() string { return fmt.Sprintf("%s's %s", p.client, p.req.Do) }

// send sends a request.
func (t *talk) send(client string, req protocol.Request) pending {
	p := pending{client: client, req: req}
	if t.over() {
		return p
	}
	var err error
	if p.id, p.answer, err = t.Send(client, req); err != nil {
		t.gone(client)
	}
	return p
}

// await waits for the answer to a request.
func (t *talk) await(p pending, within time.Duration, rule string) protocol.Message {
	if t.over() {
		return protocol.Message{}
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case msg, ok := <-p.answer:
		if !ok {
			t.gone(p.client)
		}
		return msg
	case <-timer.C:
		if p.req.Do == protocol.Cancel {
			rule = ruleReadOn
		}
		t.broken(rule, "%v was not answered within %v", p, within)
	}
	return protocol.Message{}
}

// open says whether a request is still without an answer.
func (p pending) open() bool { return len(p.answer) == 0 }

// ask sends a request and waits for its answer.
func (t *talk) ask(client string, req protocol.Request) answered {
	p := t.send(client, req)
	a := answered{p, t.await(p, patience, ruleOneAnswer)}
	if !t.over() && req.Do == protocol.Open && a.Outcome == protocol.OK {
		if err := t.Opened(client, req, a.Message); err != nil {
			t.broken(ruleKeys, "%s %v", client, err)
		}
	}
	return a
}

// answered is a request with its answer.
type answered struct {
	pending
	protocol.Message
}

// must ends the conversation unless the answer has the outcome.
func (t *talk) must(a answered, outcome, rule string) {
	if !t.over() && (a.Outcome != outcome || a.Unsupported) {
		t.broken(rule, "%v was answered %s, not %s%s", a.pending, a.said(), outcome, clause(a.Error))
	}
}

// mustNot ends the conversation if the answer has the outcome.
func (t *talk) mustNot(a answered, outcome, rule string) {
	if !t.over() && a.Outcome == outcome && !a.Unsupported {
		t.broken(rule, "%v was answered %s%s", a.pending, outcome, clause(a.Error))
	}
}

func (a answered) said() string {
	if a.Unsupported {
		return "unsupported"
	}
	return a.Outcome
}

func clause(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// op is a request about the client's own lock.
func op(verb string) protocol.Request { return protocol.Request{Do: verb, Handle: live.MainHandle} }

// do asks for an operation on the client's own lock.
func (t *talk) do(client, verb string) answered { return t.ask(client, op(verb)) }

// within is a request to acquire that retries.
func within(d time.Duration) protocol.Request {
	req := op(protocol.Acquire)
	req.WithinMS = protocol.MS(d)
	return req
}
