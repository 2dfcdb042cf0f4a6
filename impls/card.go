package impls

import "github.com/locklab/locklab/history"

// Card is what a lock says about itself: where it comes from, what it promises, what it needs.
type Card struct {
	Name   string
	Idea   string // one line
	Source string // where it is described: "article 000, A1"
	Bug    string // the line or habit that breaks it; empty for a lock that is meant to hold
	// Bugs are the single bugs of a published lock that has several; empty where there is nothing to choose.
	Bugs []Bug
	// Promises are what the lock claims, each a property that a scenario can put to the test.
	Promises []Promise
	Needs    Need
	// Servers is how many lock servers the lock is tried with, where it needs several.
	Servers int
	// Sends are the commands that an acquire and a release may send that name the lock; a script counts as EVAL. An operation
	// that is not listed may send any.
	Sends Commands
	// Leaseless: the lock has no lease, neither the service's nor one that contenders judge; only its release frees it.
	Leaseless bool
	// Renews: the lock prolongs its lease in the background while it is held.
	Renews bool
	// Resends: the lock is used through a client library left at its default retries, which sends a command again when
	// the reply does not come.
	Resends bool
}

// Commands lists the commands of operations.
type Commands map[history.Op][]string

// sends is the usual list.
func sends(acquire, release []string) Commands {
	return Commands{history.OpAcquire: acquire, history.OpRelease: release}
}

// Promise is a property that a lock claims.
type Promise string

// The promises. A lock that makes none of a kind must not be blamed for lacking it, but the verdict still names what was seen.
const (
	MutualExclusion   Promise = "mutual exclusion"                  // while no fault lasts longer than the lease
	ExclusionOnPause  Promise = "hold ends with its lease"          // declares validity, so a late holder knows
	ReleaseByOwner    Promise = "release by owner only"             //
	RenewByOwner      Promise = "renewal by owner only"             //
	CrashSafety       Promise = "freed within a lease of a crash"   //
	KnowsLoss         Promise = "tells its holder that it was lost" //
	IgnoresClientTime Promise = "does not trust clients' clocks"    //
	Fencing           Promise = "hands out growing fences"          // a resource that refuses smaller ones is safe
	Fairness          Promise = "grants in the order of asking"     // to those who wait
	Reentrance        Promise = "can be taken again by its holder"  // and is free after as many releases
)

// Need is the lock service that a lock runs on.
type Need string

// The lock services.
const (
	OneServer   Need = "one Redis server"
	NoServer    Need = "no server"
	MostServers Need = "several independent Redis servers, of which a majority must answer"
	EveryServer Need = "several independent Redis servers, all of which must answer"
)

// Spec is a registered lock: its card, and how to make one. New only keeps what it is given: it sends nothing and reads no clock.
type Spec struct {
	Card
	New func(env Env, opts Options) Lock
}

// CanRenew says whether the lock is a Renewer.
func (s Spec) CanRenew() bool {
	_, ok := s.New(nil, Options{}).(Renewer)
	return ok
}

// CanCheck says whether the lock is a Checker.
func (s Spec) CanCheck() bool {
	_, ok := s.New(nil, Options{}).(Checker)
	return ok
}

// Fences says whether the lock is a Fencer.
func (s Spec) Fences() bool {
	_, ok := s.New(nil, Options{}).(Fencer)
	return ok
}

// Wakes says whether the lock is a Waker.
func (s Spec) Wakes() bool {
	_, ok := s.New(nil, Options{}).(Waker)
	return ok
}

// DeclaresValidity says whether the lock is Limited.
func (s Spec) DeclaresValidity() bool {
	_, ok := s.New(nil, Options{}).(Limited)
	return ok
}
