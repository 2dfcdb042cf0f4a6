package world

// clocked says whether a client that is not through may read a clock that it has read, or that runs since the beginning.
func (s *Space) clocked(p *clientPart) bool {
	switch s.player.locals.clocks {
	case absolute:
		return p.c.ops > 0 || s.ClockRate != 0
	case differences:
		return p.c.at.read && !p.over
	}
	return false
}

// readings appends quarters of a lease since clients read a clock, or since the beginning.
func (s *Space) readings(list []instant, r *State, limit int) []instant {
	grid := func(since int) {
		for t := ms(s.Grid); t-since <= limit; t += ms(s.Grid) {
			if t > since {
				list = append(list, instant{t - since, true})
			}
		}
	}
	if s.player.locals.clocks == absolute {
		grid(int(r.now))
	}
	for i := range s.Clients {
		if c := &s.parts.clients.list[r.clients[i]].c; s.player.locals.clocks == differences && c.at.read {
			grid(c.ago.read)
		}
	}
	return list
}
