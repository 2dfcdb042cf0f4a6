package history

import "time"

// Answer is a client's answer to an operation: one type for the worker, the client protocol, the model and the history. It is comparable.
type Answer struct {
	Outcome Outcome
	// Unsupported: the client does not know the verb or the workload, and did nothing.
	Unsupported bool
	Error       string // what went wrong, for people
	// Limited: the lock declared its hold valid for Valid from now; zero or less if it is over.
	Limited bool
	Valid   time.Duration
	Fence   int64 // of a grant; zero where the lock has none
	// Counted: work read the number Read and wrote Wrote.
	Counted     bool
	Read, Wrote int64
}

// Returned is the event of an answer to an operation; gaveUp: the operation was cancelled.
func (a Answer) Returned(client, lock string, op Op, id int64, gaveUp bool) Event {
	e := Event{Kind: KindReturn, Client: client, Lock: lock, Op: op, ID: id, Outcome: a.Outcome, Fence: a.Fence}
	if a.Limited {
		e.Valid = Declared(a.Valid)
	}
	if d := (Detail{Error: a.Error, GaveUp: gaveUp, Read: a.Read, Wrote: a.Wrote}); d != (Detail{}) {
		e.Detail = &d
	}
	return e
}

// Declared is a declared validity in a history, where zero means that none was declared. It is short enough to be added to a time.
func Declared(d time.Duration) time.Duration { return max(min(d, mostValid), ValidityExpired) }

const mostValid = 10 * 365 * 24 * time.Hour
