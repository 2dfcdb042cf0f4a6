package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/process"
)

// What a space tells of the search that has gone through it.

// Symmetric says whether clients count as one that differ by their tokens only.
func (s *Space) Symmetric() bool { return len(s.parts.orders) > 1 }

// Declares says whether the lock says what it keeps. It is known once a search has begun.
func (s *Space) Declares() bool { return s.player.locals.declares || s.Without.Undeclared }

// Bytes is about how much memory it takes.
func (s *Space) Bytes() int { return s.parts.bytes }

// Beyond is the horizon, if something was to happen after it; else 0.
func (s *Space) Beyond() time.Duration {
	if s.beyond {
		return s.Horizon
	}
	return 0
}

// Noticed says what the lock does that no search follows; empty: nothing was noticed.
func (s *Space) Noticed() string {
	switch l := &s.player.locals; {
	case s.player.endless:
		return fmt.Sprintf("a client that came last is still in a try %d leases after all others had ended", mostSlept+2)
	case l.deadline:
		return "it asks for the deadline of its context, which in a search has none"
	case l.late:
		return "it asks whether a time-out of its own is over for which nothing waits, and in a search a time-out ends only what waits for it"
	}
	return ""
}

// Idle are the kinds of faults that might have struck and never did.
func (s *Space) Idle() (idle []faults.Kind) {
	for at, kind := range s.player.kinds {
		if !slices.ContainsFunc(s.parts.strucks.list, func(k struckPart) bool { return k.kinds[at] > 0 }) {
			idle = append(idle, kind)
		}
	}
	return idle
}

// Struck are the kinds of faults that have struck in a state.
func (s *Space) Struck(r *State) (list []faults.Kind) {
	for at, kind := range s.player.kinds {
		if s.parts.strucks.list[r.struck].kinds[at] > 0 {
			list = append(list, kind)
		}
	}
	return list
}

// Waited says whether time passed, in a sequence of choices, while a client waited for what was lost.
func Waited(path []Choice) bool {
	deaf := false
	for _, o := range path {
		switch o.kind {
		case strikes:
			deaf = deaf || o.unseen
		case notices:
			deaf = false
		case passes:
			if deaf {
				return true
			}
		}
	}
	return false
}

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
		c := &s.parts.clients.list[r.clients[o.client]].c
		if o.kind != arrives && o.kind != vanishes && c.operates(task) {
			task = 0
		}
	}
	if o.kind != strikes && o.kind != strikesServer {
		if o.again {
			task = 1
		}
		return fmt.Sprintf("%s.%d.%d", names[o.kind], o.client, task)
	}
	kind := s.player.kinds[o.fault]
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
	was, is := s.parts.clients.list[before.clients[o.client]].c.at, s.parts.clients.list[after.clients[o.client]].c.at
	wait := is.wait(is.main)
	if was == is || !is.busy || wait == nil || wait.Kind != process.Request {
		return nil
	}
	return wait.Commands
}

// Sites are the lines of the lock's code at which a client waits, as "file.go:12", the innermost first, if Config.Sites.
func (s *Space) Sites(r *State, client int) (sites []string) {
	c := &s.parts.clients.list[r.clients[client]].c
	if c.phase == crashed {
		return nil
	}
	for _, wait := range c.at.waits {
		sites = append(sites, wait.Sites...)
	}
	return sites
}

// Coverage is what happened at all.
func (s *Space) Coverage() (words []string) {
	if slices.ContainsFunc(s.parts.clients.list, func(p clientPart) bool { return p.c.on }) {
		words = append(words, "held")
	}
	return words
}

func (s *Space) Unnamed() bool { return false }

func (s *Space) Uncalled() []string { return nil }
