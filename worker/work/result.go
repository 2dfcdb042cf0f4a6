package work

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Result is what a piece of work came to.
type Result struct {
	Outcome     history.Outcome
	Error       string // what went wrong, for people
	Unsupported bool   // nobody knows that kind of work
	// Read and Wrote are the number found and the one left; nil where the work has none. Did says in words what was done instead.
	Read, Wrote *int64
	Did         string
}

func done() Result { return Result{Outcome: history.OK} }

func refused(why string) Result { return Result{Outcome: history.No, Error: why} }

// settled is the result of work that returned ok and err.
func settled(ok bool, err error) Result {
	result := Result{Outcome: impls.Outcome(ok, err)}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

func failed(err error) Result { return settled(false, err) }
