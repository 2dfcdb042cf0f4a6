// Package scenarios is the language of scripts: the parser with its errors, the formatter, the built-in scripts, and the reviewed matrix of
// expected verdicts.
//
// It owns the grammar (words.go) and the rules of a valid script. It executes nothing, which package play does. It must not know a lock, a
// world or a server.
package scenarios

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Script is a parsed .lab file.
type Script struct {
	Path    string // as given by the user; the base name of a built-in script
	Builtin bool   // only built-in scripts are in the reviewed matrix
	Name    string // the file's name without .lab
	Title   string // the first comment line
	About   []string
	Source  string // the article or thread that describes the race
	Lease   time.Duration
	Clients []string // each a process with a lock
	Handles []string // further handles in the clients' processes: C1.b is in C1's
	// OtherKey lists the clients and handles whose lock has a key of its own.
	OtherKey []string
	Servers  int // number of lock servers, S1 and so on; zero: as many as the lock uses
	Needs    []Need
	Expect   Expectation
	Steps    []Step

	Workload           history.Workload // the work under the lock; empty: the user's choice
	Stock              int64            // the initial stock of a sale
	WorkloadOverridden bool             // Workload is the user's choice and not the script's own
}

// Expectation is the set of anomalies that a script expects of one lock.
type Expectation struct {
	Lock      string // empty: the script expects nothing
	Anomalies []checker.Name
}

// Slower is the script with every duration multiplied.
func (s *Script) Slower(times int) *Script {
	slower := *s
	slower.Lease *= time.Duration(times)
	slower.Steps = slices.Clone(s.Steps)
	for i := range slower.Steps {
		step := &slower.Steps[i]
		step.Span.Fixed *= time.Duration(times)
		step.Within.Fixed *= time.Duration(times)
	}
	return &slower
}

// Waits is how long the script waits by 'wait for'. That comes on top of what a cell may take.
func (s *Script) Waits() (sum time.Duration) {
	for _, step := range s.Steps {
		if step.Verb == VerbWaitFor || step.Verb == VerbRestartSaved {
			sum += step.Span.Of(s.Lease)
		}
	}
	return sum
}

// Longest estimates for how long the script runs if every wait lasts as long as it may. Cells are ordered by it; nothing depends on it.
func (s *Script) Longest() (sum time.Duration) {
	for _, step := range s.Steps {
		sum += step.Within.Of(s.Lease)
		switch step.Verb {
		case VerbWaitFor, VerbRestartSaved:
			sum += step.Span.Of(s.Lease)
		case VerbWaitExpired:
			sum += s.Lease
		case VerbWaitHalf:
			sum += s.Lease / 2
		}
	}
	if slices.Contains(s.Needs, NeedsResend) {
		sum += resendTimeout
	}
	return sum
}

// resendTimeout is about how long a client library waits for a reply before it sends a command again.
const resendTimeout = 10 * time.Second

// Need is a trait of the lock that the script needs; it is n/a for locks without.
type Need string

// The needs that a script can declare. Its needs of the server follow from its steps.
const (
	NeedsService    Need = "service"    // the lock's state is outside its clients
	NeedsZooKeeper  Need = "zookeeper"  // on a ZooKeeper
	NeedsEnsemble   Need = "ensemble"   // the servers of the script are those of an ensemble, the leader first
	NeedsLease      Need = "lease"      // the lock has a lease
	NeedsResend     Need = "resend"     // the client library resends a command when no reply comes, or the connection ends
	NeedsNoResend   Need = "no-resend"  //
	NeedsRenewal    Need = "renewal"    // the lock renews itself in the background
	NeedsCheck      Need = "check"      // the client can check whether the lock is still held
	NeedsRenew      Need = "renew"      // the client can renew the lock
	NeedsReentrance Need = "reentrance" // the holder can acquire again
	NeedsFairness   Need = "fairness"   // the lock promises grants in the order of asking
	NeedsAsynchrony Need = "asynchrony" // the lock is granted before a replica has it
	NeedsMajority   Need = "majority"   // the lock needs only a majority of its servers
)

// Step is one line of a script.
type Step struct {
	Line   int
	Text   string // the line as written, comment and surrounding blanks removed
	Client string // a client, or a handle in its process; empty if the lab acts
	// Servers are those whose links a fault hits, or the one that the lab acts on, which may be Whichever; empty: all.
	Servers []string
	Verb    Verb
	// Op is set if Verb is VerbOp, and only then.
	Op          history.Op
	Within      Span                // acquire: how long to retry; release: when to cancel; others: unused
	Anyway      bool                // release: also if the client was refused the lock
	IfUnknown   bool                // release: only if the outcome of the last one is unknown
	Async       bool                // "in background": the step ends when the request has been sent, or released
	Breakpoints []faults.Breakpoint // in the order in which the operation must reach them
	// Span is the argument of waits and of faults: a time, and how old a copy is at least with which a server restarts.
	Span Span
	// Rate is the argument of clock rate.
	Rate float64
	// HeldBack: the replica that is held back takes over.
	HeldBack bool
	// Without are the clients that stay with the old primary.
	Without []string
	// Direction is the argument of cut off.
	Direction faults.Direction
	// Want lists the results of which one must be observed, a precondition; empty: any.
	Want []Result

	// A step between 'repeat N' and 'end' is there N times, in the order in which it is carried out: block says of which repeat, from 1.
	block, round, rounds int
}

// Round is which time of how many a repeated step is carried out, from 1; zero: it is not repeated.
func (s Step) Round() (round, of int) { return s.round, s.rounds }

// Verb is what a step does, as scripts write it without its subject; "" is VerbOp.
type Verb string

// The verbs of operations and waits. Those of faults are words of the catalogue: what begins a fault, ends it or prepares it.
const (
	VerbOp          Verb = ""                     // acquire, release, renew, check, work
	VerbAwait       Verb = "await"                // wait for the operation in the background
	VerbContinue    Verb = "continue"             // release the held request or reply, then wait for the operation or its next breakpoint
	VerbArrives     Verb = "arrives late"         // release a request for which no operation waits: a cancelled one, or a copy
	VerbTimesOut    Verb = "times out"            // the client's own time-out ends its wait for what is held, and its operation continues
	VerbGiveUp      Verb = "give up"              // the client cancels its operation, and the lab waits for its answer
	VerbRenews      Verb = "renews"               // renews hold reply of first write: wait for a background renewal, and hold it
	VerbTakesIn     Verb = "takes in the reply"   // no background task of its lock waits for a reply, or acts on one
	VerbWaits       Verb = "waits"                // its acquire in the background has reached the server and was not granted
	VerbWaitsLost   Verb = "waits until lost"     // its lock has announced that it is lost, within two leases
	VerbWaitFor     Verb = "wait for"             // wait for D: what a lock does then depends on the time that its own clock shows
	VerbWaitExpired Verb = "wait until expired"   // the lease of the last grant has passed, on every server
	VerbWaitHalf    Verb = "wait until half over" // half of the lease of the last grant has passed
	VerbWaitFreed   Verb = "wait until freed"     // the key is gone from a majority of the servers, within two leases
	VerbWaitRenewed Verb = "wait until renewed"   // a command has prolonged the lease, within two leases
)

// The verbs of faults that are more than their faults: what they need or leave behind concerns other steps.
const (
	VerbPause          Verb = "pause"
	VerbResume         Verb = "resume"
	VerbCrash          Verb = "crash"
	VerbThreadDies     Verb = "thread dies" // the handle's thread ends; background tasks continue
	VerbClock          Verb = "clock"       // clock ahead D, clock behind D, clock rate R, clock right
	VerbCutOff         Verb = "cut off"     // cut off [requests|replies] [from S4 S5]
	VerbLoseReplies    Verb = "lose replies"
	VerbHeal           Verb = "heal" // heal [S5]: the faults of the client's links end
	VerbServerJump     Verb = "clock jumps"
	VerbOperator       Verb = "operator limits lock to"
	VerbSave           Verb = "saves"             // a server keeps a copy of its data
	VerbRestartSaved   Verb = "restarts as saved" // [D ago]: writes after the copy are lost
	VerbRestart        Verb = "restarts empty"
	VerbHoldBack       Verb = "holds back one replica" // it gets nothing more
	VerbTakeOver       Verb = "fails over to"          // the one held back, or the other one
	VerbSplit          Verb = "fails over without"     // C1: the old primary still answers C1
	VerbDemote         Verb = "demotes the old primary"
	VerbRequireReplica Verb = "requires a replica" // writes are refused while no replica reports
	VerbWaitRefused    Verb = "wait until writes are refused"
	VerbMigrate        Verb = "migrates the slot"
	VerbMigrateLock    Verb = "migrates only the lock" // of the keys in the slot only those of locks; the others follow with VerbMigrated
	VerbMigrated       Verb = "has migrated the slot"  // the other primary owns it, and the old one answers MOVED
	VerbGoesDown       Verb = "goes down"
	VerbComesBack      Verb = "comes back"
)

// Span is a length of time, absolute or in leases of the script.
type Span struct {
	Fixed  time.Duration
	Leases float64
}

// Of is the span for the given lease.
func (s Span) Of(lease time.Duration) time.Duration {
	return s.Fixed + time.Duration(s.Leases*float64(lease))
}

// negative is the span in the other direction.
func (s Span) negative() Span { return Span{Fixed: -s.Fixed, Leases: -s.Leases} }

// Result is the result of a step.
type Result string

// The results of steps.
const (
	ResultOK      Result = "ok"
	ResultNo      Result = "no"
	ResultUnknown Result = "unknown"
	ResultHeldUp  Result = "held-up" // the operation is pending at a breakpoint
	ResultDone    Result = "done"    // a fault, or a wait, took effect
	ResultExpired Result = "expired"
	ResultLive    Result = "live" // still locked at the end of the wait
)
