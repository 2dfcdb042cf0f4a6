// Package trace is a counterexample of the explorer as plain data: its steps, the faults among them, what every server has under the
// lock's key after each step, and the same run as a history with the checker's verdict.
//
// It owns the types and what follows from them alone. It must not know how a trace is found, shown or made into a script: internal/sim/search,
// report and internal/scenarios/reproduce do that.
package trace

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Trace is one path through a lock's states, step by step.
type Trace struct {
	Lock    string
	Clients int // with the one that comes at the end, if one does
	Servers int
	Lease   time.Duration
	Skew    time.Duration // by which a wrong clock is wrong
	// ClockRate is at which rate slow clocks run, and fast ones as many times too fast; 0: wrong clocks are off by Skew.
	ClockRate float64
	Began     time.Time     // what a right clock shows at the first step
	Faults    []faults.Kind // in the order in which they strike
	Steps     []Step
	// Events are the trace as a history, and Verdict is what the checker makes of it.
	Events  []history.Event
	Verdict checker.Verdict
	// Anomalies are those that the last step shows.
	Anomalies []checker.Name
	// Names are those of the clients in the history that the trace was read in, where several of them may be handles in one process; nil:
	// each client has a process of its own.
	Names []string
	// Learned are the operations after which a lock may remember something else than before.
	Learned []int64
	// Ending says of which clients the operation under way at the end would end with the reply that is on its way to them.
	Ending []bool
}

// Start is when the first step happens in the trace's history. Steps count their times from it.
const Start = time.Second

// Kind is the kind of a step.
type Kind string

// The kinds of steps.
const (
	Call   Kind = "call"   // a client calls an operation
	Serve  Kind = "serve"  // a server executes a request
	Reply  Kind = "reply"  // the reply reaches the client
	Return Kind = "return" // an operation ends
	Expire Kind = "expire" // a client's time-out is over
	Wake   Kind = "wake"   // a client's sleep is over
	Arrive Kind = "arrive" // a request arrives that nobody waits for
	Time   Kind = "time"   // time passes
	Break  Kind = "break"  // a client learns that the connection has broken by which it waits for a reply
	Heal   Kind = "heal"   // a client is cut off no more
	Notice Kind = "notice" // a lock reports a loss or a renewal
	Fault  Kind = "fault"  // a fault strikes
)

// Step is one step of a trace.
type Step struct {
	At      time.Duration
	Kind    Kind
	Client  int            // from 0; negative: no client's
	Server  int            // from 0; negative: the resource
	Op      history.Op     // of a call, a return and a request
	ID      int64          // of the operation
	Answer  history.Answer // of a return
	Retries bool           // a return is only that of a try: the operation goes on
	Passed  time.Duration  // of time; of a Skew or ClockJump, by how much the clock is wrong; of a call that waits, for how long it tries (zero: for long)
	Clock   bool           // of time: it passes until a client's next step becomes another one
	Fresh   bool           // a call is that of the client that comes at the end
	Waits   bool           // a call is that of an acquire that goes on trying beside all that follows; after a loss, the client waits until its time-out is over
	Fault   faults.Kind    // of a fault
	Lost    int            // of a fail-over: how many writes
	Request [][]string     // of a time-out or a break: what has not reached its server by then
	Reply   string
	Beside  bool   // the request is a background task's
	Late    bool   // nobody waits for its reply
	Text    string // of a notice
	After   State
}

// State is what a trace shows of the state after a step.
type State struct {
	Keys    []history.State // what each server has under the lock's key
	Counter int64           // what the resource counts
	Holds   []bool          // which clients believe that they hold the lock
}

// ClientName is a client by the name that it has in the history.
func ClientName(i int) string { return fmt.Sprintf("C%d", i+1) }

// ServerName is one of so many servers by the name that it has in the history.
func ServerName(servers, i int) string {
	switch {
	case i < 0:
		return "resource"
	case servers == 1:
		return "redis"
	}
	return fmt.Sprintf("S%d", i+1)
}

// Meaning is what the fault that strikes at a step does, in one line.
func (t *Trace) Meaning(s Step) string {
	if rate := t.Rate(s.Fault); rate != 1 {
		return fmt.Sprintf("a client's clocks run at rate %v", rate)
	}
	return Meaning(s.Fault, t.Skew, t.Lease, s.Lost)
}

// Rate is at which rate a client's clocks run after a fault.
func (t *Trace) Rate(kind faults.Kind) float64 {
	slow := math.Round(1000 * t.ClockRate)
	switch {
	case slow == 0:
	case kind == faults.ClockBehind:
		return slow / 1000
	case kind == faults.ClockAhead:
		return math.Floor(1e6/slow) / 1000
	}
	return 1
}

// Meaning is what a fault does in the model, in one line: skew is that of a wrong clock, and lost is how many writes a fail-over loses.
func Meaning(kind faults.Kind, skew, lease time.Duration, lost int) string {
	text := kind.Of().Meaning
	switch recorded := kind.Of().Recorded; {
	case recorded == faults.Skew:
		text += " by " + InLeases(skew, lease)
	case kind == faults.ClockJump:
		text += " forward by " + InLeases(2*lease, lease)
	case recorded == faults.ClockJump:
		text += " by " + InLeases(2*lease, lease)
	case kind == faults.Partition: // the only one that the model has
		text = "a client is cut off from its ZooKeeper, and goes on"
	}
	if lost > 1 {
		text += fmt.Sprintf(" (%d writes)", lost)
	}
	return text
}

// Leases is how many leases a length of time is, as scripts write it.
func (t *Trace) Leases(d time.Duration) float64 { return leases(d, t.Lease) }

func leases(d, lease time.Duration) float64 {
	return math.Round(1000*float64(d)/float64(lease)) / 1000
}

// InLeases is a length of time in leases, in words.
func InLeases(d, lease time.Duration) string {
	if d == lease {
		return "1 lease"
	}
	return strconv.FormatFloat(leases(d, lease), 'f', -1, 64) + " leases"
}

// Turning is the step with the last fault; without one, the last step before the anomaly in which a command changed the lock's key;
// negative: there is neither. It does not claim that nothing after it could have saved the lock.
func (t *Trace) Turning() int {
	for i, s := range slices.Backward(t.Steps) {
		if s.Kind == Fault {
			return i
		}
	}
	for i := len(t.Steps) - 2; i > 0; i-- {
		s := t.Steps[i]
		if (s.Kind == Serve || s.Kind == Arrive) && !slices.Equal(t.Steps[i-1].After.Keys, s.After.Keys) {
			return i
		}
	}
	return -1
}
