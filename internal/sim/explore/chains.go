package explore

import (
	"slices"
	"strings"
	"time"
)

// What a client does later depends on all that it has been given before, so the steps that come at the same time are asked about one after the other: about
// the first, about the first two, and so on. A chain takes them all, once for each time.

// chain is steps that come at the same time, after the steps that lead to a node.
type chain struct {
	a      *automaton
	at     uint32
	inputs []input
	path   []uint32 // the nodes on the way there
	used   uint16
	steps  int8 // see wrongClocks
	now    ms   // what the replies among the inputs are the answers to is asked then
	taken  map[ms][]doing
	asked  []string // what it does up to each of the steps, when they are taken first
	sent   []string // what it sends for a server to compare then
	step   []byte   // room for what a step does
}

// doing is what the steps up to one have come to.
type doing struct {
	what           string
	valid          []time.Duration
	reads          bool
	told, deadline bool // see thresholds
}

func (a *automaton) chain(at uint32, inputs []input, used uint16, steps int8, now ms) *chain {
	c := &chain{a: a, at: at, inputs: inputs, used: used, steps: steps, now: now, taken: map[ms][]doing{}}
	for n := at; a.nodes[n].before != n; n = a.nodes[n].before {
		c.path = append(c.path, n)
	}
	slices.Reverse(c.path)
	return c
}

// begins says whether a chain from a node begins with some steps.
func (c *chain) begins(at uint32, inputs []input, used uint16, steps int8, now ms) bool {
	return c != nil && c.at == at && c.used == used && c.steps == steps && c.now == now && len(inputs) <= len(c.inputs) && slices.Equal(inputs, c.inputs[:len(inputs)])
}

// upTo is what the steps up to one come to at a time. Where one of them asks for something else than what the next is the answer to, it is the last.
func (c *chain) upTo(last int, t ms) doing {
	list, known := c.taken[t]
	if !known {
		list = c.take(t)
		c.taken[t] = list
	}
	return list[min(last, len(list)-1)]
}

// take takes the steps at a time, and returns what those up to each have come to.
func (c *chain) take(t ms) (list []doing) {
	s, err := c.rehearse()
	if err != nil {
		return []doing{{what: err.Error()}}
	}
	defer s.process.Close()
	told, deadline := c.a.told, c.a.deadline
	c.a.told, c.a.deadline = false, false
	defer func() { c.a.told, c.a.deadline = told, deadline }()
	list = make([]doing, 0, len(c.inputs))
	var to doing
	for k, in := range c.inputs {
		notices, err := c.a.execute(s, in, circumstances{reading{clock: t, steps: c.steps}, c.used})
		to.deadline = c.a.deadline
		if err != nil {
			to.what += err.Error()
			return append(list, to)
		}
		to.reads = to.reads || s.host.read
		c.step = appendStep(c.step[:0], s, notices)
		to.what = c.with(to.what, k, withoutNumbers(c.step))
		for _, notice := range notices {
			if v, limited := validity(notice); limited {
				to.valid = append(slices.Clip(to.valid), v)
			}
		}
		switch {
		case k == len(c.asked):
			c.asked, c.sent = append(c.asked, to.what), append(c.sent, s.toCompare())
		case c.asked[k] != to.what:
			return append(list, to)
		case !c.a.queues:
			to.told = to.told || c.sent[k] != s.toCompare()
		}
		list = append(list, to)
	}
	return list
}

// with is what the steps up to one have come to, with what that does. It is mostly what was asked before.
func (c *chain) with(before string, k int, step []byte) string {
	if k < len(c.asked) && strings.HasPrefix(c.asked[k], before) && c.asked[k][len(before):] == string(step) {
		return c.asked[k]
	}
	return before + string(step)
}

// rehearse takes a new instance to the node. Another one has gone there before.
func (c *chain) rehearse() (*instance, error) {
	s := c.a.newInstance(int(c.a.nodes[c.at].client))
	s.process.Rehearse()
	for _, n := range c.path {
		if _, err := c.a.execute(s, c.a.nodes[n].by, c.a.nodes[n].when); err != nil {
			s.process.Close()
			return nil, err
		}
	}
	return s, nil
}
