package overlap

import "github.com/anishathalye/porcupine"

// The model: a mutex that is free, or held by one span.
type (
	MutexHolder int // index of a span in its window, from 1; 0: free
	MutexTake   int // input: the span takes the mutex
	MutexGive   int // input: the span gives it back
	mutexCheck  int // input: a client that is not its holder is told that it is
)

// permitModel is a semaphore of so many permits, of which some are taken at the beginning of a window.
func permitModel(permits, taken int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return taken },
		Step: func(state, input, _ any) (bool, any) {
			switch taken := state.(int); input.(type) {
			case MutexTake:
				return taken < permits, taken + 1
			case MutexGive:
				return taken > 0, taken - 1
			}
			return false, state
		},
	}
}

// MutexModel is the mutex, with its holder at the beginning of a window.
func MutexModel(holder MutexHolder) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return holder },
		Step: func(state, input, _ any) (bool, any) {
			holder := state.(MutexHolder)
			switch in := input.(type) {
			case MutexTake:
				return holder == 0, MutexHolder(in)
			case MutexGive:
				return holder == MutexHolder(in), MutexHolder(0)
			case mutexCheck:
				return holder == 0, holder
			}
			return false, state
		},
	}
}
