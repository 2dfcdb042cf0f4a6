package explore

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Fault is a kind of fault that can be spent.
type Fault uint8

// The faults.
const (
	Pause       Fault = iota // time passes while a client has work pending: its process stands still
	Overwork                 // time passes while a client works under its lock; what runs beside it goes on
	Crash                    // a client's process is killed
	LostReply                // a request is carried out, and its reply does not come
	LateRequest              // a request is given up, and arrives later, or never
	Duplicate                // a request arrives a second time later
	ClockAhead               // a client's clock is ahead; see Config.Skew
	ClockBehind              // or behind
	ServerJump               // a server's clock jumps forward by two leases
	Restart                  // a server loses its data
	FailOver                 // a replica takes over that lacks the last writes which the server has answered; see Config.Lag
	faultKinds
)

// Faults lists the kinds.
func Faults() []Fault {
	list := make([]Fault, faultKinds)
	for i := range list {
		list[i] = Fault(i)
	}
	return list
}

// String is the fault's name.
func (f Fault) String() string {
	return [...]string{
		"pause", "overwork", "crash", "lost-reply", "late-request", "duplicate", "clock-ahead", "clock-behind",
		"server-jump", "restart", "fail-over",
	}[f]
}

// Meaning is the fault in one line, with the skew and the lag that it has where nobody chooses others.
func (f Fault) Meaning() string { return f.meaning(usualSkew, 1) }

// meaning is the fault in one line; lost is how many writes a fail-over loses.
func (f Fault) meaning(skew time.Duration, lost int) string {
	writes := "the last write that it has answered"
	if lost > 1 {
		writes = fmt.Sprintf("the last %d writes that it has answered", lost)
	}
	return [...]string{
		"a client's process stands still while time passes",
		"a client works for long under its lock, while what runs beside it goes on",
		"a client's process is killed",
		"a request is carried out, and its reply is lost",
		"a request is given up, and arrives later",
		"a request arrives a second time",
		"a client's clock is ahead by " + leases(skew),
		"a client's clock is behind by " + leases(skew),
		"a server's clock jumps forward by two leases",
		"a server loses its data",
		"a server loses " + writes,
	}[f]
}

// leases is a length of time in leases.
func leases(d time.Duration) string {
	switch d {
	case leaseLength:
		return "one lease"
	case leaseLength * 3 / 2:
		return "one and a half leases"
	}
	return strconv.FormatFloat(Leases(d), 'f', -1, 64) + " leases"
}

// Leases is how many leases of the model a length of time is, as scripts write it.
func Leases(d time.Duration) float64 { return math.Round(1000*float64(d)/float64(leaseLength)) / 1000 }

// FaultByName finds a kind by its name.
func FaultByName(name string) (Fault, bool) {
	for _, f := range Faults() {
		if f.String() == name {
			return f, true
		}
	}
	return 0, false
}

// Budget is how many faults of each kind may be spent.
type Budget [faultKinds]uint8

// String lists what may be spent: "pause 1, crash 2"; "no fault".
func (b Budget) String() string {
	var words []string
	for f, n := range b {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s %d", Fault(f), n))
		}
	}
	if len(words) == 0 {
		return "no fault"
	}
	return strings.Join(words, ", ")
}

// facts are what has been seen at all, so that a lock which holds is not one that nobody ever got.
type facts uint8

const (
	wasHeld facts = 1 << iota
	wasRefused
	wasExpired
	handedOver
)

// Facts says in words what was seen.
func (f facts) words() []string {
	var words []string
	for i, word := range []string{"held", "refused", "expired", "handed over"} {
		if f&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}
