package world

import (
	"fmt"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/process"
)

// names of choices, by their kinds.
var names = [...]string{
	calls: "call", serves: "serve", takes: "reply", timesOut: "expire", wakes: "wake", arrives: "arrive", passes: "time", notices: "notice", vanishes: "vanish", breaks: "break",
	heals: "heal", contacts: "contact",
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
	if o.kind != strikesServer && o.kind != arrives && o.kind != vanishes && s.parts.client(r, int(o.client)).c.at.Operates(task) {
		task = 0
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

// Operation is a client's operation in a sequence of choices: the places of those by which it is called and goes on, until the next is called.
type Operation []int

// Operations lists them, by their beginnings.
func Operations(path []Choice) (list []Operation) {
	latest := map[uint8]int{} // by client, its place in the list
	for at, o := range path {
		if o.kind == passes || o.kind == strikesServer {
			continue
		}
		if o.kind == calls {
			latest[o.client] = len(list)
			list = append(list, nil)
		}
		if n, called := latest[o.client]; called {
			list[n] = append(list[n], at)
		}
	}
	return list
}

// BelongsBefore says whether a choice is better read before another one, if it makes no difference: a reply reaches its client at once, an
// operation is called when it sends something, and what is late, or a fault, comes late.
func (o Choice) BelongsBefore(other Choice) bool {
	fault := func(o Choice) bool { return o.kind == strikes || o.kind == strikesServer || o.paused|o.busy != 0 }
	switch {
	case fault(o), o.kind == passes, other.kind == passes && !fault(other):
		return false
	case fault(other):
		return true
	case other.kind == arrives:
		return o.kind == takes
	case o.client == other.client, o.kind == calls, other.kind == takes:
		return false
	}
	return o.kind == takes || other.kind == calls
}

// ByClock says whether time passes until nothing ends, but a client may read its clock.
func (o Choice) ByClock() bool { return o.kind == passes && o.clock }

// EndsInsteadOf says whether time passes until something ends, for the same clients as in another choice.
func (o Choice) EndsInsteadOf(other Choice) bool {
	return o.kind == passes && !o.clock && o.paused == other.paused && o.busy == other.busy
}
