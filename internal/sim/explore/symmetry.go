package explore

import (
	"math/bits"
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"
)

// Symmetry reduction: clients that run the same lock can change places. What is true of a state is true of every state that differs only in
// the order of the clients. Of those states only one is kept: its clients are sorted by their shapes and, where shapes are equal, its
// numbers come first.

// normal is the form that stands for f and for all that are the same but for the order of the clients. It also says which order
// leads there.
func (x *explorer) normal(f *form) (form, int, error) {
	if len(x.texts.Orders) == 1 {
		return *f, 0, nil
	}
	var shapes [learn.MostClients]uint64
	for i := range x.clients {
		shapes[i] = *entry(&x.parts.shapes, f[i])
		if shapes[i] != 0 {
			continue
		}
		var err error
		if shapes[i], err = x.shape(f[i]); err != nil {
			return form{}, 0, err
		}
	}
	first, alike := x.sorting(&shapes)
	best, err := x.reorder(first, f)
	if !alike || err != nil {
		return best, first, err
	}
	found := first
	for o := first + 1; o < len(x.texts.Orders); o++ {
		if !sorted(&x.texts.Orders[o], &shapes, x.clients) {
			continue
		}
		twin, err := x.reorder(o, f)
		if err != nil {
			return form{}, 0, err
		}
		if slices.Compare(twin[:], best[:]) < 0 {
			best, found = twin, o
		}
	}
	return best, found, nil
}

// sorting is the first order that puts the shapes in order. It also says whether some are alike, so that there are more. It has no branches: the
// processor would mispredict them.
func (x *explorer) sorting(shapes *[learn.MostClients]uint64) (first int, alike bool) {
	var places, pairs, differ uint64
	for i := range x.clients {
		for k := range i {
			_, before := bits.Sub64(shapes[k], shapes[i], 0)
			_, behind := bits.Sub64(shapes[i], shapes[k], 0)
			places += before<<(placeBits*i) + behind<<(placeBits*k)
			differ += before + behind
			pairs++
		}
	}
	if differ == pairs {
		return int(x.sortings[places]), false
	}
	for !sorted(&x.texts.Orders[first], shapes, x.clients) {
		first++
	}
	return first, true
}

// placeBits is how many bits the place of a client takes.
const placeBits = 3

// sortings are the orders by the places of the clients in them.
func sortings(all []learn.Order, clients int) []uint8 {
	list := make([]uint8, 1<<(placeBits*clients))
	for n, o := range all {
		places := 0
		for i := range clients {
			places |= int(o[i]) << (placeBits * i)
		}
		list[places] = uint8(n)
	}
	return list
}

// sorted says whether the shapes stand in order once the clients have changed places.
func sorted(o *learn.Order, shapes *[learn.MostClients]uint64, clients int) bool {
	var placed [learn.MostClients]uint64
	for i := range clients {
		placed[o[i]] = shapes[i]
	}
	for i := 1; i < clients; i++ {
		if placed[i] < placed[i-1] {
			return false
		}
	}
	return true
}

// usualSlots are part of any shape. Without them the search would be the same, but another of several minimal counterexamples might be found.
const usualSlots = 3

// shape is what of a client does not depend on who it is. Different shapes need not be different numbers.
func (x *explorer) shape(n uint32) (uint64, error) {
	c := &x.parts.clients.values[n]
	orbit, err := x.orbit(c.node)
	if err != nil {
		return 0, err
	}
	h := uint64(orbit)<<16 ^ uint64(c.phase)<<60 ^ uint64(c.round)<<56 ^ uint64(c.flags)<<40 ^ uint64(uint8(c.skew))<<54 ^ uint64(uint8(c.steps))<<48
	for k := range max(usualSlots, x.automaton.Nodes[c.node].Tasks) {
		if c.replies[k] != 0 {
			h += 0x9e3779b97f4a7c15 << k
		}
		h = h*31 + uint64(uint32(c.due[k]))
	}
	h = max(h*31+uint64(uint32(c.ends)), 1)
	*entry(&x.parts.shapes, n) = h
	return h, nil
}

// orbit is the smallest number among the nodes that a node becomes when clients change places.
func (x *explorer) orbit(n uint32) (uint32, error) {
	if o := x.automaton.Nodes[n].Orbit; o != 0 {
		return o - 1, nil
	}
	least := n
	for o := range x.texts.Orders {
		renamed, err := x.automaton.Rename(o, n)
		if err != nil {
			return 0, err
		}
		least = min(least, renamed)
	}
	x.automaton.Nodes[n].Orbit = least + 1
	return least, nil
}

// reorder is the form of the state after the clients have changed places.
func (x *explorer) reorder(o int, f *form) (twin form, err error) {
	if o == 0 {
		return *f, nil
	}
	to := &x.texts.Orders[o]
	for i := range x.clients {
		known := *x.parts.clients.twin(o, f[i])
		if known == 0 {
			if known, err = x.clientTwin(o, f[i]); err != nil {
				return form{}, err
			}
		}
		twin[to[i]] = known - 1
	}
	at := x.clients
	for range x.serverCount {
		twin[at] = x.servers.Rename(o, f[at])
		at++
	}
	if x.failsOver() {
		for range x.serverCount {
			twin[at] = x.replicas.Rename(o, f[at])
			at++
		}
	}
	twin[at] = x.commonTwin(o, f[at])
	return twin, nil
}

// clientTwin is what becomes of a client in the place of another, plus 1.
func (x *explorer) clientTwin(o int, n uint32) (uint32, error) {
	to := &x.texts.Orders[o]
	c := x.parts.clients.values[n]
	twin := c
	node, err := x.automaton.Rename(o, c.node)
	if err != nil {
		return 0, err
	}
	twin.node = node
	for k, r := range c.replies {
		twin.replies[k] = x.texts.RenameReply(o, r)
	}
	for k, r := range c.travel {
		if r != 0 {
			twin.travel[k] = x.renameTravel(o, r)
		}
	}
	twin.sortTravel()
	twin.after, twin.replaced, twin.strayReplaced = to.Set(c.after), to.Set(c.replaced), to.Set(c.strayReplaced)
	if c.keptFor != 0 && c.keptFor != keptForRefused {
		twin.keptFor = to[c.keptFor-1] + 1
	}
	twin.makers = c.makers.rename(to)
	q := &twin.queued
	q.ahead, q.before, q.told = to.Set(q.ahead), to.Set(q.before), to.Set(q.told)
	number := x.parts.clients.number(&twin) + 1
	*x.parts.clients.twin(o, n) = number
	return number, nil
}

func (x *explorer) commonTwin(o int, n uint32) uint32 {
	if twin := *x.parts.commons.twin(o, n); twin != 0 {
		return twin - 1
	}
	to := &x.texts.Orders[o]
	twin := x.parts.commons.values[n]
	if twin.owner.client != 0 {
		twin.owner.client = to[twin.owner.client-1] + 1
	}
	if q := x.judge.sharing; q != nil {
		twin.shares = q.renamed(x.texts, o, twin.shares)
	}
	twin.owner.early, twin.swapped = to.Set(twin.owner.early), to.Set(twin.swapped)
	twin.owner.value = x.texts.RenameReply(o, twin.owner.value)
	if twin.tally.client != 0 {
		twin.tally.client = to[twin.tally.client-1] + 1
	}
	if twin.turn != 0 {
		twin.turn = to[twin.turn-1] + 1
	}
	for i, p := range twin.provisional {
		if p.anomaly != 0 {
			twin.provisional[i].by, twin.provisional[i].owner = to[p.by], to[p.owner]
		}
	}
	number := x.parts.commons.number(&twin)
	*x.parts.commons.twin(o, n) = number + 1
	return number
}

func (x *explorer) renameTravel(o int, r uint32) uint32 {
	early := x.texts.Orders[o].Set(uint8(r >> travelEarly & 31))
	return r&^(travelAll|31<<travelEarly) | x.texts.RenameRequest(o, r&travelAll) | uint32(early)<<travelEarly
}
