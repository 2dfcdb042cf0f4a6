package past

import (
	"errors"
	"fmt"
)

// A lock is searched as a function of what its Env gives it. Here is what shows that it is none.

// errTwice is of a lock that has done something, and does something else after just the same.
var errTwice = errors.New("given the same twice, it did not do the same twice: it goes by chance, or by what is not its own, such as a variable of its package")

// watchedRuns are how many of the first runs of a lock's code are watched for goroutines of its own, which takes time.
const watchedRuns = 500

// impure is the error of a lock that cannot be searched.
func (l *Moments) impure(err error) error {
	return fmt.Errorf("%s cannot be explored: %w", l.Lock.Name, err)
}

// same checks that a process that has been taken to a moment once more is there.
func (l *Moments) same(m *Moment, live *replay) error {
	again := *m
	if err := l.note(&again, live); err != nil {
		return err
	}
	if !again.same(m) {
		return l.impure(errTwice)
	}
	return nil
}

// Running is the number of the run of the lock's code that is under way; 0: none is. It may be asked by another goroutine.
func (l *Moments) Running() int64 { return l.running.Load() }
