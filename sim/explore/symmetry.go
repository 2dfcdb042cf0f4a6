package explore

import "bytes"

// Clients that run the same lock can change places: what is true of a state is true of every state that differs only in who is
// who. So of all those states only the one is kept that is written down first by its bytes.

// normal writes down the state that stands for s and for all that are the same but for the order of the clients. It also says
// which order leads there.
func (x *explorer) normal(b []byte, s *state) ([]byte, int, error) {
	if len(x.texts.orders) == 1 {
		return s.append(b, x.clients, x.serverCount), 0, nil
	}
	var shapes [mostClients]uint64
	for i := range x.clients {
		shape, err := x.shape(&s.clients[i])
		if err != nil {
			return nil, 0, err
		}
		shapes[i] = shape
	}
	best, bestOrder := b[len(b):], -1
	for o := range x.texts.orders {
		if !sorted(&x.texts.orders[o], &shapes, x.clients) {
			continue
		}
		twin := s
		if o != 0 {
			var err error
			if twin, err = x.reorder(o, s); err != nil {
				return nil, 0, err
			}
		}
		written := twin.append(x.scratch[:0], x.clients, x.serverCount)
		if bestOrder < 0 || bytes.Compare(written, best) < 0 {
			best, bestOrder = append(best[:0], written...), o
		}
		x.scratch = written
	}
	return append(b, best...), bestOrder, nil
}

// sorted says whether the shapes stand in order once the clients have changed places.
func sorted(o *order, shapes *[mostClients]uint64, clients int) bool {
	var placed [mostClients]uint64
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

// shape is what of a client does not depend on who it is. Different shapes need not be different numbers.
func (x *explorer) shape(c *client) (uint64, error) {
	orbit, err := x.orbit(c.node)
	if err != nil {
		return 0, err
	}
	h := uint64(orbit)<<16 ^ uint64(c.phase)<<60 ^ uint64(c.round)<<56 ^ uint64(c.flags)<<40 ^ uint64(uint8(c.skew))<<54
	for k := range mostSlots {
		if c.replies[k] != 0 {
			h += 0x9e3779b97f4a7c15 << k
		}
		h = h*31 + uint64(uint32(c.due[k]))
	}
	return h*31 + uint64(uint32(c.ends)), nil
}

// orbit is the smallest number among the nodes that a node becomes when clients change places.
func (x *explorer) orbit(n uint32) (uint32, error) {
	if o := x.automaton.nodes[n].orbit; o != 0 {
		return o - 1, nil
	}
	least := n
	for o := range x.texts.orders {
		renamed, err := x.automaton.rename(o, n)
		if err != nil {
			return 0, err
		}
		least = min(least, renamed)
	}
	x.automaton.nodes[n].orbit = least + 1
	return least, nil
}

// reorder is the state after the clients have changed places. It is overwritten by the next.
func (x *explorer) reorder(o int, s *state) (*state, error) {
	to := &x.texts.orders[o]
	t := &x.reordered
	*t = *s
	for i := range x.clients {
		c := &s.clients[i]
		twin := &t.clients[to[i]]
		*twin = *c
		if c.phase == crashed {
			twin.node = uint32(to[i])
		} else {
			node, err := x.automaton.rename(o, c.node)
			if err != nil {
				return nil, err
			}
			twin.node = node
		}
		for k, r := range c.replies {
			twin.replies[k] = x.texts.renameReply(o, r)
		}
		for k, r := range c.travel {
			if r != 0 {
				twin.travel[k] = x.renameTravel(o, r)
			}
		}
		twin.sortTravel()
		twin.after = to.set(c.after)
	}
	for i := range x.serverCount {
		t.servers[i] = x.servers.rename(o, s.servers[i])
		if s.former[i] != 0 {
			t.former[i] = x.servers.rename(o, s.former[i]-1) + 1
		}
	}
	if s.owner.client != 0 {
		t.owner.client = to[s.owner.client-1] + 1
	}
	t.owner.early = to.set(s.owner.early)
	if s.tally.client != 0 {
		t.tally.client = to[s.tally.client-1] + 1
	}
	if s.turn != 0 {
		t.turn = to[s.turn-1] + 1
	}
	for i, c := range s.charges {
		if c.anomaly != 0 {
			t.charges[i].culprit, t.charges[i].victim = to[c.culprit], to[c.victim]
		}
	}
	return t, nil
}

func (x *explorer) renameTravel(o int, r uint32) uint32 {
	early := x.texts.orders[o].set(uint8(r >> travelEarly & 31))
	return r&^(travelAll|31<<travelEarly) | x.texts.renameRequest(o, r&travelAll) | uint32(early)<<travelEarly
}

// set puts a set of clients into the order.
func (o *order) set(clients uint8) (renamed uint8) {
	for i := range mostClients {
		if clients&(1<<i) != 0 {
			renamed |= 1 << o[i]
		}
	}
	return renamed
}
