package checker

import "github.com/anishathalye/porcupine"

// The model: a mutex that is free, or held by one span.
type (
	mutexHolder int // index of a span in its window, from 1; 0: free
	mutexTake   int // input: the span takes the mutex
	mutexGive   int // input: the span gives it back
	mutexCheck  int // input: a client that is not its holder is told that it is
)

// permitModel is a semaphore of so many permits, of which some are taken at the beginning of a window.
func permitModel(permits, taken int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return taken },
		Step: func(state, input, _ any) (bool, any) {
			switch taken := state.(int); input.(type) {
			case mutexTake:
				return taken < permits, taken + 1
			case mutexGive:
				return taken > 0, taken - 1
			}
			return false, state
		},
	}
}

// mutexModel is the mutex, with its holder at the beginning of a window.
func mutexModel(holder mutexHolder) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return holder },
		Step: func(state, input, _ any) (bool, any) {
			holder := state.(mutexHolder)
			switch in := input.(type) {
			case mutexTake:
				return holder == 0, mutexHolder(in)
			case mutexGive:
				return holder == mutexHolder(in), mutexHolder(0)
			case mutexCheck:
				return holder == 0, holder
			}
			return false, state
		},
	}
}
