package play

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// Subject is a lock under test with its specification, so that no world looks a lock up by name.
type Subject struct {
	Name   string
	Spec   *impls.Spec // nil: unknown; that of a foreign client has no constructor
	Argv   []string    // the command of a foreign client, which only the live world can run; nil: the lab's own client runs Spec
	Traits Traits
	// Like is the lock whose reviewed verdicts a foreign client is compared with, and which it is asked for; empty: none.
	Like string
	// Told are the promises by which a foreign client is judged, whatever its hello says; empty: by those in hello.
	Told []impls.Promise
	// Guessed: a foreign client names no promises; those in Spec are what every lock of its kind promises.
	Guessed bool
	// Protocol is the version that a foreign client speaks; zero: not known yet.
	Protocol int
}

// Asked is the name of the algorithm that the client is asked for.
func (s Subject) Asked() string { return cmp.Or(s.Like, s.Name) }

// Promises says whether the lock makes a promise, by the protocol's word for it.
func (s Subject) Promises(word string) bool {
	return slices.Contains(impls.PromiseWordsOf(s.Spec.Promises), word)
}

// SubjectOf is the subject of a lock in Go, which the lab's own client runs.
func SubjectOf(spec impls.Spec) Subject {
	traits := Traits{
		Known: true, Local: spec.Needs == impls.NoServer, ZooKeeper: spec.Needs == impls.OneZooKeeper, Replicas: spec.Needs == impls.Replicas, Contract: spec.Declares(), Resends: protocol.ResendsIf(spec.Resends),
		Servers: spec.Servers, Majority: spec.Needs == impls.MostServers || spec.Needs == impls.Masters, Separate: true, Sends: spec.Sends,
		Verbs: []string{protocol.Skew, protocol.Reconnect, protocol.Idle}, Workloads: scenarios.WorkloadNames(),
	}
	if spec.CanRenew() {
		traits.Verbs = append(traits.Verbs, protocol.Renew)
	}
	if spec.CanCheck() {
		traits.Verbs = append(traits.Verbs, protocol.Check)
	}
	traits.Library.Masters = spec.Needs == impls.Masters
	return Subject{Name: spec.Name, Spec: &spec, Traits: traits}
}

// TraitsOf are the traits of a foreign client's lock, by its hello and its promises.
func TraitsOf(hello protocol.Hello, promises []impls.Promise) Traits {
	t := Traits{
		Known: true, Contract: impls.Declared(hello.Contract, promises), Resends: hello.Resends, MinTry: protocol.Duration(hello.MinTryMS), Separate: hello.Separate,
		Library: Library{NoCancel: hello.CannotCancel}, Verbs: hello.Verbs, Workloads: hello.Workloads,
		OneRequest: hello.OneRequest,
	}
	switch hello.Servers {
	case protocol.Majority, protocol.All, protocol.Sharded:
		t.Servers = cmp.Or(hello.ServerCount, usualServers)
		t.Majority, t.Library.Sharded = hello.Servers == protocol.Majority, hello.Servers == protocol.Sharded
	}
	return t
}

// usualServers is the number of servers of a foreign client's lock on several, where neither it nor the scenario says.
const usualServers = 3

// firstName is the name of the cells of a client that speaks version 1, which has no name for its lock.
const firstName = "client"

// namePattern is the form of the names of foreign locks.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// Introduced is a foreign client's subject completed by its hello: name, promises, traits. The error says what is wrong with the hello.
func (s Subject) Introduced(hello protocol.Hello) (Subject, error) {
	s.Name, s.Protocol = hello.Name, hello.Version
	if hello.Version == protocol.Oldest {
		s.Name = firstName
	}
	if !namePattern.MatchString(s.Name) {
		return s, fmt.Errorf("name in hello is %q, and must be up to 40 letters, digits, dots and dashes", s.Name)
	}
	promises, err := impls.ParsePromises(hello.Promises)
	if err != nil {
		return s, fmt.Errorf("promises in hello: %w", err)
	}
	if hello.ServerCount < 0 || hello.ServerCount > MaxServers {
		return s, fmt.Errorf("server_count in hello is %d, and must be from 1 to %d", hello.ServerCount, MaxServers)
	}
	if hello.Permits < 0 || hello.Permits > history.MaxParties {
		return s, fmt.Errorf("permits in hello is %d, and must be from 0 to %d", hello.Permits, history.MaxParties)
	}
	if hello.MinLeaseMS < 0 || hello.MinLeaseMS > protocol.MS(MaxLease) {
		return s, fmt.Errorf("min_lease_ms in hello is %v, and must be from 0 to %v", hello.MinLeaseMS, protocol.MS(MaxLease))
	}
	for _, op := range hello.OneRequest {
		if op != protocol.Acquire && op != protocol.Release {
			return s, fmt.Errorf("one_request in hello names %q, and may name %s and %s", op, protocol.Acquire, protocol.Release)
		}
	}
	if hello.MinTryMS < 0 || hello.MinTryMS > protocol.MS(MaxLease) {
		return s, fmt.Errorf("min_try_ms in hello is %v, and must be from 0 to %v", hello.MinTryMS, protocol.MS(MaxLease))
	}
	if hello.LabCuts && !hello.Separate {
		return s, errors.New("lab_cuts in hello needs separate: the lab names other addresses in open")
	}
	switch {
	case len(s.Told) > 0:
		promises = s.Told
	case hello.Promises != nil:
	case s.Like != "":
		promises = s.Spec.Promises
	default:
		promises = guessed(hello)
		s.Guessed = true
	}
	s.Traits = TraitsOf(hello, promises)
	s.Spec = &impls.Spec{Card: impls.Card{
		Name: s.Name, Idea: cmp.Or(hello.About, hello.Name), Promises: promises, Contract: hello.Contract, Resends: hello.Resends != protocol.ResendsNothing,
		MinLease: protocol.Duration(hello.MinLeaseMS), Needs: needOf(hello), Servers: s.Traits.Servers,
	}}
	return s, nil
}

// MaxServers is how many servers a lock may be kept on.
const MaxServers = 9

// MinLease is the shortest lease of a storm, and MaxLease the longest, which is also the longest that a lock may need to keep its promises.
const (
	MinLease = 200 * time.Millisecond
	MaxLease = time.Minute
)

func needOf(hello protocol.Hello) impls.Need {
	switch hello.Servers {
	case protocol.Majority:
		return impls.MostServers
	case protocol.All:
		return impls.EveryServer
	}
	return impls.OneServer
}

// guessed are the promises of a client that names none: those that every lock of its kind makes.
func guessed(hello protocol.Hello) []impls.Promise {
	promises := []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner}
	if !hello.Leaseless {
		promises = append(promises, impls.CrashSafety)
	}
	if hello.Renews || slices.Contains(hello.Verbs, protocol.Renew) {
		promises = append(promises, impls.RenewByOwner)
	}
	if hello.Reentrant {
		promises = append(promises, impls.Reentrance)
	}
	if hello.Fair {
		promises = append(promises, impls.Fairness)
	}
	return promises
}
