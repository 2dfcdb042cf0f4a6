package explore

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/internal/timeline/ownership"
)

const (
	mostTravel      = 2 // requests of a client that nobody waits for any more
	mostProvisional = 3
)

// phase is where a client is in its round: acquire, work, release.
type phase uint8

const (
	waiting   phase = iota // it wants the lock, and has not called
	acquiring              // an operation is under way …
	holding                // it was told that it has the lock
	working
	worked
	releasing
	finished // all its rounds
	crashed
)

// flags of a client.
const (
	futile    uint16 = 1 << iota // its last try was refused, and nothing has changed since: the next would be the same
	asleep                       // it has been paused since its last step
	busy                         // it is in a long hold: time passes, and its background tasks go on
	on                           // it believes that it has the lock: it has neither released nor lost it
	tenure                       // the lock was rightfully its own when its release was called
	changed                      // that release has changed the lock
	removed                      // that release has removed the client's own lock
	looked                       // that release has named the lock
	late                         // a client that took the lock after it was told so before it
	metGhost                     // its acquire met a ghost
	challenge                    // it has replaced the value of a live owner
	took                         // its acquire has taken the lock on the server
	struck                       // a fault that nothing takes back has struck it, and may delay it
	inner                        // its release is not the last: it has acquired the lock more than once
	deaf                         // its operation waits for what is lost: a reply, or a request and its reply
	unsure                       // its latest release came to unknown, so it may release once more, or is doing so
)

// sameGrant takes the place of a fence where a holder acquires again: that is the same grant, and issues no fence of its own.
const sameGrant = ^uint32(0)

// gap is where a part would have padding: without any it is hashed, and compared, in one go. It stays 0.
type gap [1]uint8

// client is the state of one client, as far as it is not in its node. Times count from now.
type client struct {
	node    uint32
	replies [learn.MostSlots]uint32 // to the requests that were executed
	due     [learn.MostSlots]ms
	flights
	hold
	challenger
	since ms // how long ago its operation's latest command or, before that, its call was; only if leases count from it
	from  ms // how long ago the reply of the latest command arrived that got or prolonged the lease, until the client acts on it
	flags uint16
	phase phase
	round uint8
	wrongClocks
	meetings
	lastRelease
	before  uint8  // the highest update that had been acknowledged when its work was called
	count   uint8  // how often it was told in its hold that it has the lock, less its releases
	tries   uint8  // that were refused since something has changed
	entered uint8  // how often it has acquired the lock again in its round
	fence   uint32 // the highest fence when its acquire was called or, where it is known, took the lock: its place in the judge's list, plus 1; or sameGrant
	queued  queued
}

// hold is how long a client has the lock by what that has declared.
type hold struct {
	ends ms // when it ends
}

// connections are those of a client that a restart has broken, and that it has not noticed; see breakConnections.
type connections struct {
	torn   uint8 // by which its tasks wait, and then those of the requests on their way
	broken uint8 // connections of its own, by server
}

// meetings are what its acquire has seen of others'.
type meetings struct {
	after   uint8 // the clients that took the lock after it did, while it had not been told
	keptFor uint8 // the client for whose acquire it found the lock kept, plus 1, or keptForRefused
}

// wrongClocks is how a client's clocks are wrong.
type wrongClocks struct {
	skew  int8 // 1: both are ahead from the start; -1: behind
	steps int8 // how often the wall clock has been set ahead since, less how often back
}

// flights are the requests of a client that nobody waits for any more.
type flights struct {
	travel [mostTravel]uint32 // see surely
	ages   [mostTravel]ms     // how long ago its operation's latest command was, if that has ended; only if a lock reads clocks, or leases count from it
	agos   [mostTravel]uint8  // by which of its acquires; see acquireAgo. Only of a lock on several servers
	passed bool               // another client has had a turn since its work was called, which is under way
	connections
	Gap [3]gap
	session
}

// What is on its way is a request, with the operation that it belongs to and what became of that.
const (
	surely      = 1 << 31 // it arrives before time passes; another one may arrive at any time, or never
	current     = 1 << 30 // its operation has not ended
	travelOp    = 27
	travelEarly = 22      // the clients that were acquiring already when its acquire ended; see owner.early
	succeeded   = 1 << 21 // its operation has ended well
	passedOn    = 1 << 20 // of work: another client has had a turn since that was called
	travelAll   = passedOn - 1
)

func (c *client) has(flag uint16) bool { return c.flags&flag != 0 }
func (c *client) set(flag uint16)      { c.flags |= flag }
func (c *client) clear(flag uint16)    { c.flags &^= flag }

// holds says whether a client has the lock by what it was told, as far as the judge counts on it.
func (c *client) holds() bool { return c.has(on) && c.ends > 0 }

// repliedBeside says whether a reply is there for a background task.
func (c *client) repliedBeside() bool {
	return slices.ContainsFunc(c.replies[1:], func(r uint32) bool { return r != 0 })
}

// owner is the client that has the lock by what the server has executed.
type owner struct {
	client   uint8 // plus 1; 0: there is none
	standing ownership.Standing
	over     bool  // it has called release, or was told that the lock was lost
	leaving  bool  // that release has not definitely returned; only of a lock without a lease
	early    uint8 // the clients that had called the acquire that they are in before the owner's ended
	ago      uint8 // how many acquires ago its client called the one by which it has it; only of a lock on several servers
	left     uint8 // its release has left it in place: see leaves
	Gap      gap
	ends     ms // when the lease ends
	margin   ms // how much of it must be left before it counts
	sure     ms // when it ends as far as the owner has been told
	sighting
}

// leftInPlace is the bit of owner.left that says that a release was answered ok and has left the lock in place. The others are the clients whose acquires
// have found it there since.
const leftInPlace = 1 << 7

// leaves notes whether the owner's release has left the lock in place.
func (o *owner) leaves(in bool) {
	if o.left = 0; in {
		o.left = leftInPlace
	}
}

// sighting is what was under the lock's key when it was last seen.
type sighting struct {
	there   bool
	stale   bool // it may have changed since, unseen
	foreign bool // it is not the owner's, but an older lock that a fail-over has brought back
	Gap     gap
	value   uint32 // see command.left
}

// tally is how often the client that made a lock which counts was told of it since.
type tally struct {
	client             uint8 // plus 1; 0: there is none
	acquired, released uint8
	unsure             bool
}

// provisional is an anomaly that counts only if the acquires that are pending return ok.
type provisional struct {
	anomaly                 uint8 // plus 1; 0: there is none
	by, owner               uint8
	byPending, ownerPending bool
}

// state is all that the future depends on, and what the properties have to remember.
type state struct {
	clients  [learn.MostClients]client
	servers  [learn.MostServers]uint32
	replicas [learn.MostServers]uint32 // counted only if servers fail over
	common
}

// common is what of a state belongs to no one client or server.
type common struct {
	resource    uint32
	now         ms // counted only if a lock reads clocks
	owner       owner
	shares      uint32 // what each of several servers has of the lock; see sharing
	acked       uint32 // values that an acknowledged update has read
	fence       uint32 // the largest so far: its place in the judge's list, plus 1
	highest     uint8  // of the values in acked, plus 1
	turn        uint8  // the client with the latest grant, plus 1
	over        bool   // that client has released
	swapped     uint8  // the clients whose acquires are under way though another, for which they kept the lock from it, was told ok
	provisional [mostProvisional]provisional
	tally       tally
	spent       [faultKinds]uint8
	Gap         [2]gap
}

// faults is how many faults have been spent.
func (s *state) faults() int {
	n := 0
	for _, spent := range s.spent {
		n += int(spent)
	}
	return n
}

// freshClient has not done anything.
func freshClient(i int) client {
	c := client{node: uint32(i), hold: hold{ends: never}}
	for i := range c.due {
		c.due[i] = never
	}
	return c
}
