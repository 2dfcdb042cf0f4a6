package locktest

import (
	"context"
	"errors"
	"time"
)

// Funcs are what most libraries offer: functions that return errors. Lock makes a Lock of them.
type Funcs struct {
	Try    func(context.Context) error // to acquire the lock, once
	Unlock func(context.Context) error
	// Extend starts the lease anew, and Ask asks the server whether the lock is held; nil: the library has no such function.
	Extend, Ask func(context.Context) error
	// Valid is for how long the lock is still held, as the library computes it, zero or less if it has ended; nil: the library does not say.
	Valid func() time.Duration
	// Stop ends all that the lock has started; nil: nothing has to be ended.
	Stop func()
	// Refused are the errors which say that another client has the lock, or that it is no longer this client's. The outcome after
	// any other error is unknown.
	Refused []error
}

// Lock is a Lock that calls the functions. It has the methods of those that are there.
func (f Funcs) Lock() Lock {
	l := &calling{f}
	extends, asks := f.Extend != nil, f.Ask != nil
	if f.Valid != nil {
		return l.limited(extends, asks)
	}
	switch {
	case extends && asks:
		return struct {
			*calling
			renewing
			checking
		}{l, renewing{l}, checking{l}}
	case extends:
		return struct {
			*calling
			renewing
		}{l, renewing{l}}
	case asks:
		return struct {
			*calling
			checking
		}{l, checking{l}}
	}
	return l
}

// limited is the lock if the library says how long it is valid.
func (l *calling) limited(extends, asks bool) Lock {
	switch {
	case extends && asks:
		return struct {
			*calling
			renewing
			checking
			limiting
		}{l, renewing{l}, checking{l}, limiting{l}}
	case extends:
		return struct {
			*calling
			renewing
			limiting
		}{l, renewing{l}, limiting{l}}
	case asks:
		return struct {
			*calling
			checking
			limiting
		}{l, checking{l}, limiting{l}}
	}
	return struct {
		*calling
		limiting
	}{l, limiting{l}}
}

type calling struct{ funcs Funcs }

func (l *calling) TryAcquire(ctx context.Context) (bool, error) { return l.outcome(l.funcs.Try(ctx)) }

func (l *calling) Release(ctx context.Context) (bool, error) { return l.outcome(l.funcs.Unlock(ctx)) }

func (l *calling) Close() {
	if l.funcs.Stop != nil {
		l.funcs.Stop()
	}
}

func (l *calling) outcome(err error) (bool, error) {
	for _, refused := range l.funcs.Refused {
		if errors.Is(err, refused) {
			return false, nil
		}
	}
	return err == nil, err
}

type renewing struct{ lock *calling }

func (r renewing) Renew(ctx context.Context) (bool, error) {
	return r.lock.outcome(r.lock.funcs.Extend(ctx))
}

type checking struct{ lock *calling }

func (c checking) Held(ctx context.Context) (bool, error) {
	return c.lock.outcome(c.lock.funcs.Ask(ctx))
}

type limiting struct{ lock *calling }

func (l limiting) Valid() time.Duration { return l.lock.funcs.Valid() }
