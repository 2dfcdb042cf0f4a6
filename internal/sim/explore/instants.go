package explore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"
)

// Instants are the times that searches of one lock have found, at which the lock does something else. It does so whatever faults there are, and however
// many clients. The zero value is ready. Searches that share it come one after the other.
type Instants struct {
	steps map[uint64]*thresholds
	lived map[uint64][]ms
}

// thresholds are the times by a client's clock at which its next step becomes another one, within a range that has been searched.
type thresholds struct {
	searched bool
	none     bool // the step does not read the clock
	from, to ms
	at       []ms
	// What probing has shown of the lock; see timing.
	told, deadline bool
}

// ofStep are the thresholds of a step that a client takes, by all that it has been given.
func (i *Instants) ofStep(given []byte) *thresholds {
	if i.steps == nil {
		i.steps = map[uint64]*thresholds{}
	}
	key := maphash.Bytes(givenSeed, given)
	t := i.steps[key]
	if t == nil {
		t = &thresholds{}
		i.steps[key] = t
	}
	return t
}

// ofLives are the lengths of time after which a client would learn something else, by all that it has been given and the servers have.
func (i *Instants) ofLives(given []byte, search func() []ms) []ms {
	if i.lived == nil {
		i.lived = map[uint64][]ms{}
	}
	key := maphash.Bytes(givenSeed, given)
	found, known := i.lived[key]
	if !known {
		found = search()
		i.lived[key] = found
	}
	return found
}

var givenSeed = maphash.MakeSeed()

// allGiven is what a client at a node has been given from the beginning, and is given now. If all clients are alike, it is the first, and the others come
// in the order that makes it the least: then it is the same for all who are given the same.
func (x *explorer) allGiven(node uint32, given []learn.Input, in learn.Input, steps int8) (least []byte) {
	client := x.automaton.Nodes[node].Client
	for o := range x.texts.Orders {
		if x.texts.Orders[o][client] != 0 {
			continue
		}
		if all := x.givenAs(o, node, given, in, steps); least == nil || bytes.Compare(all, least) < 0 {
			least = all
		}
	}
	if least == nil {
		least = x.givenAs(0, node, given, in, steps)
	}
	return least
}

// givenAs is that after the clients have changed places.
func (x *explorer) givenAs(o int, node uint32, given []learn.Input, in learn.Input, steps int8) []byte {
	a := x.automaton
	b := fmt.Appendf(nil, "%d %d %d %d", x.texts.Orders[o][a.Nodes[node].Client], x.skew, x.serverCount, steps)
	for _, g := range slices.Backward(append(slices.Clip(given), in)) {
		b = x.appendGiven(b, o, g)
	}
	for n := node; a.Nodes[n].Before != n; n = a.Nodes[n].Before {
		by, when := a.Nodes[n].By, a.Nodes[n].When
		b = x.appendGiven(b, o, by)
		b = binary.AppendVarint(b, int64(when.Clock))
		b = append(b, byte(when.Steps))
		b = binary.AppendUvarint(b, uint64(when.Used))
	}
	return b
}

// appendGiven appends an input as it is after the clients have changed places.
func (x *explorer) appendGiven(b []byte, o int, in learn.Input) []byte {
	b = append(b, '|', byte(in.Kind), in.Slot)
	if in.Kind != learn.InputReply {
		return binary.AppendUvarint(b, uint64(in.Arg))
	}
	for _, r := range x.texts.Replies[x.texts.RenameReply(o, in.Arg)].Replies {
		b = append(b, byte(r.Kind))
		b = append(b, r.String()...)
		b = append(b, 0)
	}
	return b
}

// givenWithServers is what a client has been given, with what its next steps depend on besides.
func (x *explorer) givenWithServers(s *state, i int, limit ms) []byte {
	c := &s.clients[i]
	b := x.givenAs(0, c.node, nil, learn.Input{Kind: learn.InputReply, Slot: 0, Arg: c.replies[0]}, c.steps)
	b = fmt.Appendf(b, "|%d %d %d %d %d %t", c.phase, c.skew, x.slow, limit, x.config.Reenter, x.timed)
	if x.told {
		b = fmt.Appendf(b, "%+v", x.reading(s, i))
	}
	for k := range x.serverCount {
		b = append(x.servers.States[s.servers[k]].Server.AppendState(b), '|')
	}
	return b
}
