package history

import (
	"fmt"
	"time"
)

// What a history may have; one that has more is not read.
const (
	MaxFile    = 1 << 30 // bytes, unpacked
	MaxEvents  = 3 << 22 // the lab's own events are longer than MaxFile / MaxEvents
	MaxParties = 1 << 14 // clients, or locks
)

// Bounds of what a history may say. They are far beyond what the lab writes; within them sums of times do not overflow, and nothing takes
// more memory than the file's size explains.
const (
	maxTime    = 10 * 365 * 24 * time.Hour
	maxServers = 1000
	maxList    = 1 << 16 // elements of a list in one event
	maxPending = 1 << 12 // operations under way at a time
	maxScript  = 1 << 30 // lines
)

// validator checks each event against those before it, so that readers of a history need not. What it admits has the details that its kind
// needs, times in order and in bounds, and returns of operations that were called.
type validator struct {
	at      time.Duration
	events  int // so many more are admitted
	pending map[operationOf]pendingCall
	clients names
	locks   names
}

// pendingCall is what a return must agree with.
type pendingCall struct {
	op   Op
	lock string
}

// names are those that have been met. Most events name the same as the one before.
type names struct {
	known map[string]bool
	last  string
}

// operationOf names an operation under way.
type operationOf struct {
	client string
	id     int64
}

func newValidator() *validator {
	return &validator{events: MaxEvents, pending: map[operationOf]pendingCall{}, clients: names{known: map[string]bool{}}, locks: names{known: map[string]bool{}}}
}

// check says why an event cannot come next.
func (v *validator) check(e *Event) error {
	if v.events--; v.events < 0 {
		return fmt.Errorf("more than %d events", MaxEvents)
	}
	if err := v.common(e); err != nil {
		return err
	}
	if e.Detail != nil {
		if err := e.Detail.inBounds(); err != nil {
			return err
		}
	}
	switch e.Kind {
	case KindOpen:
		if err := needs(e, e.Client != "" && e.Lock != "" && e.Detail != nil, "client, a lock and a detail"); err != nil {
			return err
		}
		return e.Detail.Work.check()
	case KindCall:
		return v.call(e)
	case KindReturn:
		return v.back(e)
	case KindLost, KindValid:
		return needs(e, e.Client != "" && e.Lock != "", "client and a lock")
	case KindExit:
		return needs(e, e.Client != "", "client")
	case KindCommand:
		c := e.Command()
		return needs(e, e.Client != "" && c != nil && c.Server != "" && len(c.Args) > 0, "client, a server and a command with its name")
	case KindFault:
		return v.fault(e)
	case KindFinal, KindStep, KindEnd:
		return needs(e, e.Detail != nil, "detail")
	}
	return nil
}

func needs(e *Event, has bool, what string) error {
	if has {
		return nil
	}
	return fmt.Errorf("an event %q needs a %s", e.Kind, what)
}

// common checks what events of every kind have.
func (v *validator) common(e *Event) error {
	switch {
	case e.At < v.at:
		return fmt.Errorf("time %v is before that of the event above, %v", e.At, v.at)
	case e.ID < 0:
		return fmt.Errorf("the number of an operation is %d", e.ID)
	}
	v.at = e.At
	if err := inBounds("at", e.At); err != nil {
		return err
	}
	if e.Valid < 0 { // how large it is depends on the client
		return fmt.Errorf(`"valid" is %d ns; it may not be negative`, e.Valid)
	}
	if err := v.clients.admit(e.Client, "clients"); err != nil {
		return err
	}
	return v.locks.admit(e.Lock, "locks")
}

func (n *names) admit(name, what string) error {
	if name == n.last {
		return nil
	}
	n.last = name
	if n.known[name] {
		return nil
	}
	if len(n.known) == MaxParties {
		return fmt.Errorf("more than %d %s", MaxParties, what)
	}
	n.known[name] = true
	return nil
}

func (v *validator) call(e *Event) error {
	if err := needs(e, e.Client != "" && e.Lock != "" && e.Op != OpNone && e.ID > 0, "client, a lock, an operation and its number"); err != nil {
		return err
	}
	key := operationOf{e.Client, e.ID}
	if _, ok := v.pending[key]; ok {
		return fmt.Errorf("%s calls operation %d, which is under way already", e.Client, e.ID)
	}
	if len(v.pending) == maxPending {
		return fmt.Errorf("more than %d operations are under way", maxPending)
	}
	v.pending[key] = pendingCall{e.Op, e.Lock}
	return nil
}

func (v *validator) back(e *Event) error {
	key := operationOf{e.Client, e.ID}
	called, ok := v.pending[key]
	switch {
	case !ok:
		return fmt.Errorf("%s returns from operation %d, which is not under way", e.Client, e.ID)
	case called.op != e.Op || called.lock != e.Lock:
		return fmt.Errorf("%s returns from %v of %s, but operation %d is %v of %s", e.Client, e.Op, e.Lock, e.ID, called.op, called.lock)
	case e.Outcome == OutcomeNone:
		return fmt.Errorf("%s returns from operation %d without an outcome", e.Client, e.ID)
	}
	delete(v.pending, key)
	return nil
}

func (v *validator) fault(e *Event) error {
	f := e.Fault()
	if f == nil || f.Name == "" {
		return needs(e, false, "fault with its name")
	}
	switch f.Phase {
	case PhaseInject, PhaseEffective, PhaseEnding, PhaseRecover:
		return nil
	}
	return fmt.Errorf("no phase of a fault is called %q", f.Phase)
}

func inBounds(name string, d time.Duration) error {
	if d < 0 || d > maxTime {
		return fmt.Errorf("%q is %d ns; it may be 0 to %d", name, d, maxTime)
	}
	return nil
}

// inBounds says which of the details cannot be.
func (d *Detail) inBounds() error {
	if err := inBounds("lease", d.Lease); err != nil {
		return err
	}
	if err := inBounds("bound", d.Bound); err != nil {
		return err
	}
	switch {
	case d.Servers < 0 || d.Servers > maxServers:
		return fmt.Errorf(`"servers" is %d; it may be 0 to %d`, d.Servers, maxServers)
	case d.Need < 0 || d.Need > max(d.Servers, 1):
		return fmt.Errorf(`"need" is %d; it may be 0 to %d`, d.Need, max(d.Servers, 1))
	case d.Permits < 0 || d.Permits > MaxParties:
		return fmt.Errorf(`"permits" is %d; it may be 0 to %d`, d.Permits, MaxParties)
	case d.Line < 0 || d.Line > maxScript:
		return fmt.Errorf(`"line" is %d; it may be 0 to %d`, d.Line, maxScript)
	case d.Fault != nil:
		return nearStart("value", time.Duration(d.Value))
	case d.Command != nil:
		return d.Command.inBounds()
	}
	return nil
}

// inBounds bounds the lab's own times. How long a key lives is up to the client, and to the server.
func (c *Command) inBounds() error {
	if err := nearStart("sent", c.Sent); err != nil {
		return err
	}
	return inBounds("asked", c.Asked)
}

// nearStart bounds a time that may be before the start of the cell.
func nearStart(name string, at time.Duration) error {
	if at < -maxTime || at > maxTime {
		return fmt.Errorf("%q is %d ns; it may be %d to %d", name, at, -maxTime, maxTime)
	}
	return nil
}
