// Package calls is what clients make of the calls of their libraries.
//
// It owns what an error means, and calls that nothing cancels. It must not know a library.
package calls

import (
	"context"
	"errors"
)

// Outcome is what an error of a library means: a refusal, that it was not done; any other, that it is not known.
func Outcome(err error, refusals ...error) (bool, error) {
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return false, nil
		}
	}
	return err == nil, err
}

// Leave calls what the library does not cancel, and leaves it to itself when ctx ends. late, unless it is nil, is told what came of it then.
func Leave(ctx context.Context, f func() error, late func(error)) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if late != nil {
		go func() { late(<-done) }()
	}
	return ctx.Err()
}
