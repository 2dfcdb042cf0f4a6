package world

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A lock is searched as a function of what its Env gives it. Here is what shows that it is none.

// errTwice is of a lock that has done something, and does something else after just the same.
var errTwice = errors.New("given the same twice, it did not do the same twice: it goes by chance, or by what is not its own, such as a variable of its package")

var errNoEnd = errors.New("it does not come back: it waits for what is not its Env's, or never stops asking")

// watchedRuns are how many of the first runs of a lock's code are watched for goroutines of its own, which takes time.
const watchedRuns = 500

// impure is the error of a lock that cannot be searched.
func (l *locals) impure(err error) error {
	return fmt.Errorf("%s cannot be explored: %w", l.spec.Name, err)
}

// same checks that a process that has been taken to a moment once more is there.
func (l *locals) same(m *moment, live *life) error {
	again := *m
	if err := l.note(&again, live); err != nil {
		return err
	}
	if again.outcome() != m.outcome() {
		return l.impure(errTwice)
	}
	return nil
}

// patience is how long one run may take in real time. A lock only computes. It is counted in looks, lookEvery apart: a host that stands
// still for as long, and the lock with it, is looked at once.
const (
	lookEvery = 500 * time.Millisecond
	patient   = 10
)

// Patiently does something that runs the lock's code, and gives it up when one run takes too long: then the space is not to be used any more.
func (s *Space) Patiently(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // so that it ends if the lock comes back after all
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	running := &s.player.locals.running
	var last int64
	for looks := 0; ; {
		select {
		case err := <-result:
			return err
		case <-look.C:
			if n := running.Load(); n == 0 || n != last {
				last, looks = n, 0
			} else if looks++; looks >= patient {
				s.lost = true
				return s.player.locals.impure(errNoEnd)
			}
		}
	}
}
