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
	weight  int    // zero: it does not hit a client
	redis   string // why a storm on a ZooKeeper has none; empty: it can have it
	read    string // why a storm has none on a server to which the lab does not read what clients send; empty: it can have it
}

// Mixture lists the kinds of faults that a storm can have. By default it has what a lock can be expected to survive: a single server that
// forgets its leases, or whose clock jumps, breaks every lock on it.
func Mixture() []Kind {
	return []Kind{
		{faults.Pause, "for less than its lease or for longer", true, 2, "", ""},
		{faults.Crash, "at once or while a message of it is on the wire; it comes back as a new one", true, 3, "", ""},
		{faults.Partition, "", true, 2, "", ""},
		{faults.Refuse, "", true, 3, "", ""},
		{faults.Delay, "", false, 1, "", ""},
		{faults.ReplyLost, "", true, 3, "", ""},
		{faults.HoldRequest, "or its reply on the way back", true, 6, "", noBreakpoint},
		{faults.Duplicate, "", false, 1, "its requests are numbered, so that none arrives a second time", noBreakpoint},
		{faults.Skew, "", true, 2, "the session is kept by timers of the client library, which the lab does not set", ""},
		{faults.ClockJump, "", false, 0, "it measures sessions by a clock that nobody sets", "the lab does not change its clock"},
		{faults.Restart, "", false, 0, "all storms share one ZooKeeper", ""},
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
