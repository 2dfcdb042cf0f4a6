package explore

// setClock makes a client's clocks wrong from the start, or its wall clock step.
func (x *explorer) setClock(s *state, m move) {
	c, f, by := &s.clients[m.client], clockAhead, int8(1)
	if m.kind == moveBehind {
		f, by = clockBehind, -1
	}
	if m.slot == stepping {
		s.spent[f+stepAhead-clockAhead]++
		c.steps += by
	} else {
		s.spent[f]++
		c.skew = by
	}
	c.set(struck)
}

// clock is what a client's monotonic clock shows.
func (x *explorer) clock(s *state, i int) ms { return s.now + ms(s.clients[i].skew)*x.skew }

// reading is what a client's clocks show.
func (x *explorer) reading(s *state, i int) reading {
	return reading{x.clock(s, i), s.clients[i].steps}
}

// canStep says whether a wall clock can still step.
func (x *explorer) canStep(s *state) bool {
	return x.walls && (x.canSpend(s, stepAhead) || x.canSpend(s, stepBack))
}
