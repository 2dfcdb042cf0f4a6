// Package scenarios is the language of scripts: the parser with its errors, the formatter, the scripts that come with the lab, the reviewed
// matrix of what is expected, and the bibliography.
//
// It owns the grammar (words.go) and what a script may say. It carries nothing out, which package play does. It must not know a lock, a
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
	Path    string // as given by the user; the base name for the scripts that come with the lab
	Builtin bool   // comes with the lab; only these are in the reviewed matrix
	Name    string // the file's name without .lab
	Title   string // the first comment line
	About   []string
	Source  string // the article or thread that describes the trouble
	Lease   time.Duration
	Clients []string // each a process with a lock
	Handles []string // further lock objects in the clients' processes: C1.b is one in that of C1
	// OtherKey lists the clients and handles whose lock is for another key than that of all others.
	OtherKey []string
	Servers  int // how many lock servers there are, S1 and so on; zero: as many as the lock uses
	Needs    []Need
	Expect   Expectation
	Steps    []Step

	Workload history.Workload // what is done under the lock; empty: whatever the user chooses
	Stock    int64            // with which a sale begins, or everybody's purse
	Lent     bool             // the workload is the user's choice and not the script's own
}

// Expectation is what a script shows of the lock that it was written for. Of another lock it says nothing.
type Expectation struct {
	Lock      string // empty: the script expects nothing
	Anomalies []checker.Name
}

// Slower is the script with every length of time in it multiplied, so that it tells the same story at another pace.
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

// Need is a trait of the lock without which the script makes no sense; other locks are n/a.
type Need string

// The needs that a script can state. What it needs of the server follows from its steps.
const (
	NeedsService    Need = "service"    // the lock lives elsewhere than in its clients
	NeedsLease      Need = "lease"      // the service frees the lock by itself
	NeedsResend     Need = "resend"     // the client library sends a command again when no reply comes
	NeedsNoResend   Need = "no-resend"  //
	NeedsRenewal    Need = "renewal"    // the lock renews itself in the background
	NeedsCheck      Need = "check"      // the lock can be asked whether it is still held
	NeedsRenew      Need = "renew"      // the lock's user can renew it
	NeedsReentrance Need = "reentrance" // its holder can take the lock again
	NeedsFairness   Need = "fairness"   // the lock promises to serve in the order of asking
	NeedsMajority   Need = "majority"   // a majority of the lock's servers is enough for it
)

// Step is one line of a script.
type Step struct {
	Line   int
	Text   string // the line as written, comment and surrounding blanks removed
	Client string // a client, or a handle in its process; empty where the lab acts
	// Servers are those that a fault of a link is confined to, or the one that the lab does something to; empty: all of them.
	Servers []string
	Verb    Verb
	// Op is set where Verb is VerbOp.
	Op          history.Op
	Within      Span                // acquire: try again for so long; release: give up when so long has passed; renew, check, work: unused
	Async       bool                // "in background": the step ends when the request has been sent, or let go
	Breakpoints []faults.Breakpoint // in the order in which the operation is to reach them
	// Span is the argument of clock, delay and server clock jumps.
	Span Span
	// Rate is the argument of clock rate.
	Rate float64
	// Direction is the argument of cut off.
	Direction faults.Direction
	// Want lists the results of which one must be seen for the script to have happened at all; empty: any will do.
	Want []Result
}

// Verb is what a step does.
type Verb uint8

// The verbs.
const (
	VerbOp           Verb = iota + 1 // acquire, release, renew, check, work
	VerbAwait                        // await: wait for the operation in the background
	VerbContinue                     // continue: let the held request or reply go, then wait for the operation or its next trap
	VerbArrives                      // arrives late: let go what its operation waits for no more: a request that was given up, or a copy
	VerbTimesOut                     // times out: the client takes what is held for lost, by a time-out of its own, and its operation goes on
	VerbGiveUp                       // give up: the client cancels its operation, and the lab waits for its answer
	VerbRenews                       // renews hold reply of first write: wait until its lock renews itself in the background, and stop that
	VerbPause                        // pause, resume: SIGSTOP, SIGCONT
	VerbResume                       //
	VerbCrash                        // crash: SIGKILL
	VerbThreadDies                   // thread dies: nobody in the process uses this lock any more; what runs beside it goes on
	VerbWaits                        // waits: its acquire in the background has reached the server and was not granted
	VerbClock                        // clock ahead D, clock behind D, clock rate R, clock right
	VerbCutOff                       // cut off [requests|replies] [from S4 S5]: bytes are held on the client's links until heal
	VerbRefuse                       // refuse [S5]: connections are broken and refused until heal
	VerbDelay                        // delay D [to S5]: each way
	VerbLoseReplies                  // lose replies [from S5]: commands are applied, replies vanish
	VerbHeal                         // heal [S5]: the client's links are whole again
	VerbWaitExpired                  // wait until expired: the lease of the last grant has passed, on every server
	VerbWaitHalf                     // wait until half over: half of the lease of the last grant has passed
	VerbWaitFreed                    // wait until freed: the key is gone from a majority of the servers, within two leases
	VerbWaitRenewed                  // wait until renewed: a command has prolonged the lease, within two leases
	VerbServerJump                   // server clock jumps D, S2 clock jumps D
	VerbOperator                     // operator limits lock to D: somebody sets its expiry by hand
	VerbSave                         // server saves, S2 saves: it keeps a copy of its data
	VerbRestartSaved                 // server restarts as saved, S2 restarts as saved: what came after the copy is lost
	VerbRestart                      // server restarts empty, S2 restarts empty
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

// Result is what a step came to.
type Result string

// The results of steps.
const (
	ResultOK      Result = "ok"
	ResultNo      Result = "no"
	ResultUnknown Result = "unknown"
	ResultHeldUp  Result = "held-up" // every trap of the operation has been reached; it is pending
	ResultDone    Result = "done"    // a fault, or a wait, took effect
	ResultExpired Result = "expired"
	ResultLive    Result = "live" // still held when the wait's bound was over
)
