package world

import (
	"fmt"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/process"
)

// names of choices, by their kinds.
var names = [...]string{
	calls: "call", serves: "serve", takes: "reply", expires: "expire", wakes: "wake", arrives: "arrive", passes: "time", notices: "notice", vanishes: "vanish", breaks: "break",
}

// names of faults, where they are not their own.
var shortNames = map[faults.Kind]string{
	faults.ReplyLost: "lose", faults.LateRequest: "late", faults.Duplicate: "twice", faults.ClockAhead: "ahead", faults.ClockBehind: "behind",
	faults.ClockJump: "jump", faults.FailOver: "fail",
}

// Name is what a choice is called in a state, for as long as the rules stay what they are. The client's operation is its task 0.
func (s *Space) Name(r *State, o Choice) string {
	if o.kind == passes {
		return fmt.Sprintf("time.%d.%d.%d", o.time, o.paused, o.busy)
	}
	task := int(o.task)
	if o.kind != strikesServer {
		c := &s.parts.client(r, int(o.client)).c
		if o.kind != arrives && o.kind != vanishes && c.at.Operates(task) {
			task = 0
		}
	}
	if o.kind != strikes && o.kind != strikesServer {
		if o.again {
			task = 1
		}
		return fmt.Sprintf("%s.%d.%d", names[o.kind], o.client, task)
	}
	kind := s.player.budget.kinds[o.fault]
	name, short := shortNames[kind]
	if !short {
		name = string(kind)
	}
	if o.unseen {
		name += "-waiting"
	}
	return fmt.Sprintf("%s.%d.%d", name, o.client, task)
}

// Asks is the request that the client's operation sends after a choice, and has not sent before; nil: there is none.
func (s *Space) Asks(before, after *State, o Choice) [][]string {
	switch o.kind {
	case passes, strikesServer, arrives, vanishes:
		return nil
	}
	was, is := s.parts.client(before, int(o.client)).c.at, s.parts.client(after, int(o.client)).c.at
	wait := is.Wait(is.Main)
	if was == is || !is.Busy || wait == nil || wait.Kind != process.Request {
		return nil
	}
	return wait.Commands
}

// Sites are the lines of the lock's code at which a client waits, as "file.go:12", the innermost first, if Config.Sites.
func (s *Space) Sites(r *State, client int) (sites []string) {
	c := &s.parts.client(r, client).c
	if c.phase == crashed {
		return nil
	}
	for _, wait := range c.at.Waits {
		sites = append(sites, wait.Sites...)
	}
	return sites
}
