package explore

import (
	"fmt"
	"strings"
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
	ClockAhead               // a client's clock is ahead by one and a half leases
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

// Meaning is the fault in one line.
func (f Fault) Meaning() string {
	return [...]string{
		"a client's process stands still while time passes",
		"a client works for long under its lock, while what runs beside it goes on",
		"a client's process is killed",
		"a request is carried out, and its reply is lost",
		"a request is given up, and arrives later",
		"a request arrives a second time",
		"a client's clock is ahead by one and a half leases",
		"a client's clock is behind by one and a half leases",
		"a server's clock jumps forward by two leases",
		"a server loses its data",
		"a server loses the last write that it has answered",
	}[f]
}

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
