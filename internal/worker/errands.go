package worker

import (
	"context"
	"sync"
)

// errands counts the background tasks of a lock that may have to act on a reply: those that neither sleep nor wait for a message.
type errands struct {
	mu    sync.Mutex
	tasks int
	await []chan struct{} // closed when there are none
}

type errandsKey struct{}

// within is the context of a background task, by which its waits are told from those of operations.
func (e *errands) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, errandsKey{}, e)
}

// resting takes the background task that waits in ctx, if any, off the count, until back is called.
func resting(ctx context.Context) (back func()) {
	e, ok := ctx.Value(errandsKey{}).(*errands)
	if !ok {
		return func() {}
	}
	e.end()
	return e.begin
}

func (e *errands) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tasks++
}

func (e *errands) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tasks--
	if e.tasks > 0 {
		return
	}
	for _, none := range e.await {
		close(none)
	}
	e.await = nil
}

// none is closed as soon as no task is counted.
func (e *errands) none() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	none := make(chan struct{})
	if e.tasks == 0 {
		close(none)
	} else {
		e.await = append(e.await, none)
	}
	return none
}
