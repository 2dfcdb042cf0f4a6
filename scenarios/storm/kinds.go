// Package storm holds what is pure about storms: the plan of a storm, which is a function of its seed, and the judgement of what
// it showed by what the lock promises. scenarios/live carries plans out.
package storm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/scenarios"
)

// Kind is a kind of fault that a storm can have.
type Kind string

// The kinds of faults.
const (
	Pause         Kind = "pause"
	Crash         Kind = "crash"
	Partition     Kind = "partition"
	Refuse        Kind = "refuse"
	Delay         Kind = "delay"
	ReplyLost     Kind = "reply-lost"
	Hold          Kind = "hold"
	Duplicate     Kind = "duplicate"
	Clock         Kind = "clock"
	ServerJump    Kind = "server-jump"
	ServerRestart Kind = "server-restart"
)

// Definition is a kind of fault, what it does, and how often it comes beside others.
type Definition struct {
	Kind    Kind
	Meaning string
	Default bool // it is in the mixture that a storm has where nobody asks for another one
	weight  int  // zero: it does not strike a client
}

// Definitions lists the kinds of faults. The mixture has by default what a lock can be expected to survive: a single server that
// forgets its leases, or lets time leap, breaks every lock on it.
func Definitions() []Definition {
	return []Definition{
		{Pause, "a client is stopped (SIGSTOP), for less than its lease or for longer", true, 2},
		{Crash, "a client is killed, at once or while something of it is on the wire, and comes back as a new one", true, 3},
		{Partition, "a client is cut off from the server, both ways or one way", true, 2},
		{Refuse, "a client's connections break and are refused", true, 3},
		{Delay, "a client's link is slow", false, 1},
		{ReplyLost, "the server carries out a client's commands, and the replies are lost", true, 3},
		{Hold, "a request of a client, or its reply, is held on the wire", true, 6},
		{Duplicate, "a request of a client is sent twice", false, 1},
		{Clock, "a client's clock is ahead, behind, or runs at another rate", true, 2},
		{ServerJump, "the server's clock leaps forward", false, 0},
		{ServerRestart, "the server restarts without its data", false, 0},
	}
}

// Defaults are the kinds of the default mixture.
func Defaults() []Kind {
	var kinds []Kind
	for _, d := range Definitions() {
		if d.Default {
			kinds = append(kinds, d.Kind)
		}
	}
	return kinds
}

// Names are the names of all kinds.
func Names() []string {
	var names []string
	for _, d := range Definitions() {
		names = append(names, string(d.Kind))
	}
	return names
}

// ParseKinds reads the names of kinds; "none" alone is a storm without faults.
func ParseKinds(names []string) ([]Kind, error) {
	if len(names) == 1 && names[0] == "none" {
		return nil, nil
	}
	var kinds []Kind
	for _, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case !slices.Contains(Names(), name):
			if near := scenarios.Nearest(name, Names()); near != "" {
				return nil, fmt.Errorf("unknown fault %q; did you mean %q?", name, near)
			}
			return nil, fmt.Errorf("unknown fault %q; known are %s, or none alone", name, strings.Join(Names(), ", "))
		case slices.Contains(kinds, Kind(name)):
			return nil, fmt.Errorf("fault %q is named twice", name)
		}
		kinds = append(kinds, Kind(name))
	}
	// The order in which somebody writes them down is no part of a storm.
	slices.SortFunc(kinds, func(a, b Kind) int {
		return slices.Index(Names(), string(a)) - slices.Index(Names(), string(b))
	})
	return kinds, nil
}
