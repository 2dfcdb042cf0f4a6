// Package storm holds what is pure about storms: the plan of a storm, which is a function of its seed, and the judgement of what
// it showed by what the lock promises.
//
// It owns the mixture of faults, the plan and the contract that locks are measured by. It must not know worlds, processes or servers:
// internal/scenarios/live carries plans out.
package storm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/spelling"
)

// Kind is a kind of fault of the mixture, and how often it comes beside others.
type Kind struct {
	faults.Kind
	Varies  string // what a storm draws besides when and whom
	Default bool   // it is in the mixture that a storm has where nobody asks for another one
	weight  int    // of a fault that hits a client
	redis   string // why a storm on a ZooKeeper has none; empty: it can have it
	read    string // why a storm has none on a server to which the lab does not read what clients send; empty: it can have it
	draw    func(*Plan, dice, *Strike)
}

// Mixture lists the kinds of faults that a storm can have. By default it has what a lock can be expected to survive: a single server that
// forgets its leases, or whose clock jumps, breaks every lock on it.
func Mixture() []Kind {
	return []Kind{
		{Kind: faults.Pause, Varies: "for less than its lease or for longer", Default: true, weight: 2, draw: func(p *Plan, d dice, s *Strike) { s.For = d.either(p.Lease, 0.5) }},
		{Kind: faults.Crash, Varies: "at once or while a message of it is on the wire; it comes back as a new one", Default: true, weight: 3, draw: (*Plan).drawCrash},
		{Kind: faults.Partition, Default: true, weight: 2, draw: func(p *Plan, d dice, s *Strike) {
			s.For, s.Links = d.either(p.Lease, 0.5), d.links()
			s.Direction = []faults.Direction{faults.Both, faults.Requests, faults.Replies}[d.IntN(3)]
		}},
		{Kind: faults.Refuse, Default: true, weight: 3, draw: func(p *Plan, d dice, s *Strike) { s.For, s.Links = d.either(p.Lease, 0.2), d.links() }},
		{Kind: faults.Delay, weight: 1, draw: func(p *Plan, d dice, s *Strike) {
			s.For, s.Each, s.Links = d.between(p.Lease, 0.5, 1.5), d.between(p.Lease, 0.02, 0.15), d.links()
		}},
		{Kind: faults.ReplyLost, Default: true, weight: 3, draw: (*Plan).drawLoss},
		{Kind: faults.HoldRequest, Varies: "or its reply on the way back", Default: true, weight: 6, read: noBreakpoint, draw: (*Plan).drawHold},
		{Kind: faults.Duplicate, weight: 1, redis: "its requests are numbered, so that none arrives a second time", read: noBreakpoint,
			draw: func(p *Plan, d dice, s *Strike) { s.Breakpoints = p.traps(d, faults.ActDuplicate) }},
		{Kind: faults.Skew, Default: true, weight: 2, redis: "the session is kept by timers of the client library, which the lab does not set", draw: (*Plan).drawSkew},
		{Kind: faults.ClockJump, redis: "it measures sessions by a clock that nobody sets", read: "the lab does not change its clock",
			draw: func(p *Plan, d dice, s *Strike) { s.Ahead = d.either(p.Lease, 0.7) }},
		{Kind: faults.SlowServer, draw: func(p *Plan, d dice, s *Strike) {
			s.For, s.Each = d.between(p.Lease, 0.5, 1.5), d.between(p.Lease, 0.02, 0.15)
		}},
		{Kind: faults.Restart, redis: "all storms share one ZooKeeper", draw: func(*Plan, dice, *Strike) {}},
	}
}

const noBreakpoint = "the lab does not read what clients send, and so holds none of it"

// Lacks says why the storm has no faults of the kind; empty: it can have them.
func (p Params) Lacks(kind faults.Kind) string {
	all := Mixture()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Kind == kind })
	switch {
	case i < 0:
	case p.ZooKeeper:
		return all[i].redis
	case p.Opaque:
		return all[i].read
	}
	return ""
}

// Means is what the kind does.
func (k Kind) Means() string {
	if k.Varies == "" {
		return k.Of().Meaning
	}
	return k.Of().Meaning + ", " + k.Varies
}

// Defaults are the kinds of the default mixture.
func Defaults() []faults.Kind {
	return kindsOf(func(k Kind) bool { return k.Default })
}

// Kinds are all kinds.
func Kinds() []faults.Kind {
	return kindsOf(func(Kind) bool { return true })
}

func kindsOf(wanted func(Kind) bool) (kinds []faults.Kind) {
	for _, k := range Mixture() {
		if wanted(k) {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

// ParseKinds reads the names of kinds, also those that a kind has had; "none" alone is a storm without faults.
func ParseKinds(names []string) ([]faults.Kind, error) {
	if len(names) == 1 && names[0] == "none" {
		return nil, nil
	}
	all := Kinds()
	var kinds []faults.Kind
	for _, name := range names {
		name = strings.TrimSpace(name)
		fault, _ := faults.Find(name)
		switch {
		case !slices.Contains(all, fault.Kind):
			return nil, unknown(name, all)
		case slices.Contains(kinds, fault.Kind):
			return nil, fmt.Errorf("fault %q is named twice", name)
		}
		kinds = append(kinds, fault.Kind)
	}
	// The order in which somebody writes them down is no part of a storm.
	slices.SortFunc(kinds, func(a, b faults.Kind) int { return slices.Index(all, a) - slices.Index(all, b) })
	return kinds, nil
}

func unknown(name string, kinds []faults.Kind) error {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown fault %q; did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown fault %q; known are %s, or none alone", name, strings.Join(names, ", "))
}
