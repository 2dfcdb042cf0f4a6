package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// What a client does later depends on all that it has been given before, so the steps that come at the same time are asked about one after the other: about
// the first, about the first two, and so on. A chain takes them all, once for each time.

// Chain is steps that come at the same time, after the steps that lead to a node.
type Chain struct {
	A      *Automaton
	At     uint32
	Inputs []Input
	path   []uint32 // the nodes on the way there
	used   uint16
	steps  int8 // see wrongClocks
	now    MS   // what the replies among the inputs are the answers to is asked then
	taken  map[MS][]doing
	asked  []string // what it does up to each of the steps, when they are taken first
	sent   []string // what it sends for a server to compare then
	step   []byte   // room for what a step does
}

// doing is what the steps up to one have come to.
type doing struct {
	What           string
	Valid          []time.Duration
	Reads          bool
	Told, Deadline bool // see thresholds
}

func (a *Automaton) Chain(at uint32, inputs []Input, used uint16, steps int8, now MS) *Chain {
	c := &Chain{A: a, At: at, Inputs: inputs, used: used, steps: steps, now: now, taken: map[MS][]doing{}}
	for n := at; a.Nodes[n].Before != n; n = a.Nodes[n].Before {
		c.path = append(c.path, n)
	}
	slices.Reverse(c.path)
	return c
}

// Begins says whether a chain from a node begins with some steps.
func (c *Chain) Begins(at uint32, inputs []Input, used uint16, steps int8, now MS) bool {
	return c != nil && c.At == at && c.used == used && c.steps == steps && c.now == now && len(inputs) <= len(c.Inputs) && slices.Equal(inputs, c.Inputs[:len(inputs)])
}

// UpTo is what the steps up to one come to at a time. Where one of them asks for something else than what the next is the answer to, it is the last.
func (c *Chain) UpTo(last int, t MS) doing {
	list, known := c.taken[t]
	if !known {
		list = c.take(t)
		c.taken[t] = list
	}
	return list[min(last, len(list)-1)]
}

// take takes the steps at a time, and returns what those up to each have come to.
func (c *Chain) take(t MS) (list []doing) {
	s, err := c.rehearse()
	if err != nil {
		return []doing{{What: err.Error()}}
	}
	defer s.Process.Close()
	told, deadline := c.A.Told, c.A.Deadline
	c.A.Told, c.A.Deadline = false, false
	defer func() { c.A.Told, c.A.Deadline = told, deadline }()
	list = make([]doing, 0, len(c.Inputs))
	var to doing
	for k, in := range c.Inputs {
		notices, err := c.A.execute(s, in, circumstances{Reading{Clock: t, Steps: c.steps}, c.used})
		to.Deadline = c.A.Deadline
		if err != nil {
			to.What += err.Error()
			return append(list, to)
		}
		to.Reads = to.Reads || s.host.read
		c.step = appendStep(c.step[:0], s, notices)
		to.What = c.with(to.What, k, WithoutNumbers(c.step))
		for _, notice := range notices {
			if v, limited := validity(notice); limited {
				to.Valid = append(slices.Clip(to.Valid), v)
			}
		}
		switch {
		case k == len(c.asked):
			c.asked, c.sent = append(c.asked, to.What), append(c.sent, s.toCompare())
		case c.asked[k] != to.What:
			return append(list, to)
		case !c.A.Queues:
			to.Told = to.Told || c.sent[k] != s.toCompare()
		}
		list = append(list, to)
	}
	return list
}

// with is what the steps up to one have come to, with what that does. It is mostly what was asked before.
func (c *Chain) with(before string, k int, step []byte) string {
	if k < len(c.asked) && strings.HasPrefix(c.asked[k], before) && c.asked[k][len(before):] == string(step) {
		return c.asked[k]
	}
	return before + string(step)
}

// rehearse takes a new instance to the node. Another one has gone there before.
func (c *Chain) rehearse() (*instance, error) {
	s := c.A.NewInstance(int(c.A.Nodes[c.At].Client))
	s.Process.Rehearse()
	for _, n := range c.path {
		if _, err := c.A.execute(s, c.A.Nodes[n].By, c.A.Nodes[n].When); err != nil {
			s.Process.Close()
			return nil, err
		}
	}
	return s, nil
}

// appendStep appends what a step asks, tells and waits for.
func appendStep(b []byte, s *instance, notices []process.Notice) []byte {
	for _, w := range s.Process.Waits() {
		b = append(b, '0'+byte(w.Kind), '0'+byte(w.Task))
		q := requestOf(w)
		b = q.appendText(b)
	}
	for _, notice := range notices {
		b = append(b, string(notice.Op)+string(notice.Answer.Outcome)...)
		if notice.Answer.Limited && notice.Answer.Valid <= history.ExpiryMargin {
			b = append(b, "ended"...)
		}
		b = append(b, '0'+byte(notice.Kind))
	}
	return b
}

// validity is for how long the lock is still valid by a notice. That it has ended is no validity.
func validity(n process.Notice) (valid time.Duration, limited bool) {
	valid = n.Answer.Valid
	if n.Kind == process.Renewed {
		valid = n.Valid
	}
	return valid, (n.Kind == process.Renewed || n.Answer.Limited) && valid > history.ExpiryMargin
}

// compares says whether a server may compare the numbers that it is sent with those that it has.
func compares(w process.Wait) bool {
	if w.Kind != process.Request {
		return false
	}
	for _, command := range w.Commands {
		if name := strings.ToUpper(command[0]); strings.HasPrefix(name, "EVAL") || strings.HasPrefix(name, "Z") {
			return true
		}
	}
	return false
}

// toCompare is what a server is sent that it may compare, word for word.
func (s *instance) toCompare() string {
	var b strings.Builder
	for _, w := range s.Process.Waits() {
		if compares(w) {
			q := requestOf(w)
			b.WriteString(q.Text())
		}
	}
	return b.String()
}
