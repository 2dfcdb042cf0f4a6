package history

import "time"

// Answer is what a client says that an operation came to: one type for the worker, the client protocol, the model and the record. It is
// comparable.
type Answer struct {
	Outcome Outcome
	// Unsupported: the client does not know the verb, or the kind of work; then nothing was done.
	Unsupported bool
	Error       string // what went wrong, for people
	// Limited: the lock declared its hold to be good for Valid from now on; zero or less if it is over.
	Limited bool
	Valid   time.Duration
	Fence   int64 // of a grant; zero where the lock has none
	// Counted: work found the number Read and left Wrote. Did says in words what was done where there are no such numbers.
	Counted     bool
	Read, Wrote int64
	Did         string
}

// Returned is the event of an answer to an operation; gaveUp: its client was to give it up, or has by itself.
func (a Answer) Returned(client, lock string, op Op, id int64, gaveUp bool) Event {
	e := Event{Kind: KindReturn, Client: client, Lock: lock, Op: op, ID: id, Outcome: a.Outcome, Fence: a.Fence}
	if a.Limited {
		e.Valid = Declared(a.Valid)
	}
	if d := (Detail{Error: a.Error, GaveUp: gaveUp, Text: a.Did, Read: a.Read, Wrote: a.Wrote}); d != (Detail{}) {
		e.Detail = &d
	}
	return e
}

// Declared is a declared validity as a history has it: there zero means that none was declared.
func Declared(d time.Duration) time.Duration { return max(d, ValidityExpired) }
