package explore

// ending says of which clients the operation under way would end with the reply that is on its way to them.
func (x *explorer) ending(s *state) []bool {
	watcher := x.watcher
	x.watcher = nil
	defer func() { x.watcher = watcher }()
	ending := make([]bool, x.clients)
	for i := range ending {
		after := *s
		c := &after.clients[i]
		if c.phase == crashed || x.automaton.Nodes[c.node].Idle || c.replies[0] == 0 {
			continue
		}
		err := x.apply(&after, move{kind: moveTake, client: uint8(i)})
		ending[i] = err == nil && x.automaton.Nodes[after.clients[i].node].Idle
	}
	return ending
}
