package impls

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// Card describes a lock: its source, its promises, its needs.
type Card struct {
	Name   string
	Idea   string // one line
	Source string // where it is described: "article 000, A1"
	Bug    string // the line that breaks it; empty for a sound lock
	// Bugs are the bugs of a published lock that has several, for selection by name.
	Bugs []Bug
	// Promises are the properties that the lock claims and scenarios test.
	Promises []Promise
	Needs    Need
	// Servers is the number of lock servers in scenarios, if the lock needs several.
	Servers int
	// Sends are the commands with the lock's key that an operation may send; a script counts as EVAL. An operation that is not listed may
	// send any.
	Sends Commands
	// Contract is what the lock declares of itself; Declares adds what its promises imply. A lock on a ZooKeeper has its client's session for a lease:
	// Options.Lease is the time-out of the session.
	history.Contract
	// OneRequest are the operations, "acquire" or "release", that are one request to the server and its reply. Where the lab does not read the
	// protocol, breakpoints apply to these.
	OneRequest []string
	// MinLease is the shortest lease with which the lock can keep its promises; zero: any. Storms use no shorter one.
	MinLease time.Duration
	// Clocks are the clocks of its client that it reads.
	Clocks []Clock
	// EqualTokens: the lock compares tokens for equality alone, and does nothing else that depends on what they are. An exploration then takes clients that
	// differ by their tokens only for one. It shows no other lock to hold.
	EqualTokens bool
	// Resends: the client library keeps its default retries and resends a command whose reply does not come.
	Resends bool
}

// Declares is the contract of the card with what its promises imply.
func (c Card) Declares() history.Contract { return Declared(c.Contract, c.Promises) }

// Declared is a contract with what promises imply.
func Declared(c history.Contract, promises []Promise) history.Contract {
	c.Reentrant = c.Reentrant || slices.Contains(promises, Reentrance)
	c.Fair = c.Fair || slices.Contains(promises, Fairness)
	return c
}

// Commands lists the commands of operations.
type Commands map[history.Op][]string

// sends is the usual list.
func sends(acquire, release []string) Commands {
	return Commands{history.OpAcquire: acquire, history.OpRelease: release}
}

// Clock is a clock of a client.
type Clock string

// The clocks. Only a wall clock can be set while its client runs.
const (
	WallClock      Clock = "wall clock"
	MonotonicClock Clock = "monotonic clock"
)

// Need is the lock service that a lock runs on.
type Need string

// The lock services.
const (
	OneServer    Need = "one Redis server"
	NoServer     Need = "no server"
	MostServers  Need = "several independent Redis servers, of which a majority must answer"
	Masters      Need = "the primaries of a Redis Cluster, of which a majority must answer"
	Replicas     Need = "one Redis server with replicas"
	OneZooKeeper Need = "a ZooKeeper"
	OneEtcd      Need = "an etcd"
	OnePostgres  Need = "a PostgreSQL"
	EveryServer  Need = "several independent Redis servers, all of which must answer"
)

// Spec is a lock: its card and its constructor. New sends no command and reads no clock; that of a foreign client's lock is nil.
type Spec struct {
	Card
	New func(env Env, opts Options) Lock
}

// CanRenew says whether the lock is a Renewer.
func (s Spec) CanRenew() bool { return is[Renewer](s) }

// CanCheck says whether the lock is a Checker.
func (s Spec) CanCheck() bool { return is[Checker](s) }

// Queues says whether clients that wait for the lock queue up: a place in a queue can outlast its client.
func (s Spec) Queues() bool { return is[Patient](s) }

func is[T any](s Spec) bool {
	if s.New == nil { // a foreign client's lock
		return false
	}
	_, ok := s.New(nil, Options{}).(T)
	return ok
}

// Promise is a property that a lock claims.
type Promise string

// The promises. An anomaly against a promise that a lock does not make is not the lock's fault, but the verdict names it.
const (
	MutualExclusion   Promise = "mutual exclusion"                  // while no fault lasts longer than the lease
	ExclusionOnPause  Promise = "hold ends with its lease"          // it declares its validity
	ReleaseByOwner    Promise = "release by owner only"             //
	RenewByOwner      Promise = "renewal by owner only"             //
	CrashSafety       Promise = "freed within a lease of a crash"   //
	KnowsLoss         Promise = "tells its holder that it was lost" //
	ToldInTime        Promise = "tells its holder in time"          // while its process runs: a partition is no excuse, a pause is
	IgnoresClientTime Promise = "does not trust clients' clocks"    //
	Fencing           Promise = "hands out growing fences"          // a resource that refuses smaller ones is safe
	Fairness          Promise = "grants in the order of asking"     // to those who wait
	Reentrance        Promise = "can be taken again by its holder"  // and is free after as many releases
)

// PromiseWord is a promise with the word for it in the protocol of clients.
type PromiseWord struct {
	Word string
	Promise
}

// PromiseWords lists all promises.
func PromiseWords() []PromiseWord {
	return []PromiseWord{
		{"exclusion", MutualExclusion},
		{"ends-with-lease", ExclusionOnPause},
		{"release-by-owner", ReleaseByOwner},
		{"renew-by-owner", RenewByOwner},
		{"crash-safe", CrashSafety},
		{"tells-loss", KnowsLoss},
		{"tells-in-time", ToldInTime},
		{"ignores-clocks", IgnoresClientTime},
		{"fencing", Fencing},
		{"fair", Fairness},
		{"reentrant", Reentrance},
	}
}

// PromiseWordsOf are the protocol's words for promises.
func PromiseWordsOf(promises []Promise) []string {
	words := []string{}
	for _, p := range PromiseWords() {
		if slices.Contains(promises, p.Promise) {
			words = append(words, p.Word)
		}
	}
	return words
}

// ParsePromises are the promises of those words.
func ParsePromises(words []string) ([]Promise, error) {
	known := PromiseWords()
	var promises []Promise
	for _, word := range words {
		i := slices.IndexFunc(known, func(p PromiseWord) bool { return p.Word == word })
		if i < 0 {
			var names []string
			for _, p := range known {
				names = append(names, p.Word)
			}
			return nil, fmt.Errorf("unknown promise %q; there are %s", word, strings.Join(names, ", "))
		}
		promises = append(promises, known[i].Promise)
	}
	return promises, nil
}

// Bug is one of several bugs of a published lock. A name selects them: the lock "getset-published/local-check" has this one only,
// "getset-published/local-check+lost-retry" has two.
type Bug struct {
	Name string
	What string // in one line
	// Apart: the bug is on only if its name is selected, because it hides the others, depends on chance, or exceeds a scenario's time.
	Apart bool
}

// bugs are the names of a lock's active bugs.
type bugs []string

// shownBy are the bugs that the options select, or else all but those Apart.
func shownBy(opts Options, all []Bug) bugs {
	if opts.Bugs != nil {
		return opts.Bugs
	}
	var names bugs
	for _, bug := range all {
		if !bug.Apart {
			names = append(names, bug.Name)
		}
	}
	return names
}

func (b bugs) has(name string) bool { return slices.Contains(b, name) }

// Lookup finds a lock by its name among specs. A slash and the names of bugs may follow the name.
func Lookup(specs []Spec, name string) (Spec, bool) {
	name, chosen, choice := strings.Cut(name, "/")
	i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	if !choice {
		return specs[i], true
	}
	return specs[i].only(strings.Split(chosen, "+"))
}

// only is the lock with the chosen bugs only; false if it does not have them all.
func (s Spec) only(chosen []string) (Spec, bool) {
	var what []string
	for _, name := range chosen {
		i := slices.IndexFunc(s.Bugs, func(b Bug) bool { return b.Name == name })
		if i < 0 {
			return Spec{}, false
		}
		what = append(what, s.Bugs[i].What)
	}
	s.Name += "/" + strings.Join(chosen, "+")
	s.Bug = strings.Join(what, "; ")
	open := s.New
	s.New = func(env Env, opts Options) Lock {
		opts.Bugs = chosen
		return open(env, opts)
	}
	return s, true
}
