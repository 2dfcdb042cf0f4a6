package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Undo takes back what a lab has left where no guard can kill or remove it: in a server that is somebody else's. It says whether
// there was anything, and must return when the context ends.
type Undo func(ctx context.Context, what string) (found bool, err error)

// undoPatience bounds how long one undo may take. Somebody else's server may have gone, and must not keep the guard waiting.
const undoPatience = 5 * time.Second

// undoPause lies between two calls of the same undo.
const undoPause = 50 * time.Millisecond

// task is something to be undone.
type task struct{ kind, what string }

// Undo has the guard process undo something at the end of the lab, whatever that end is, by the Undo that it knows by this kind.
// It is to be called before there is anything to undo. A kind has no spaces, and neither has a line break.
func (g *Guard) Undo(kind, what string) error {
	if kind == "" || what == "" || strings.ContainsAny(kind, " \r\n") || strings.ContainsAny(what, "\r\n") {
		return fmt.Errorf("guard: undo %q %q: not one line", kind, what)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("guard: undo %s: %w", kind, errClosed)
	}
	return g.tellLocked("undo "+kind, what)
}

// undo calls the undo of the task until it has found nothing twice in a row: what the lab has sent just before its end may take
// effect a moment after it.
func (w *wards) undo(t task) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), undoPatience, errors.New("it takes too long"))
	defer cancel()
	for quiet := 0; ; {
		found, err := w.undos[t.kind](ctx, t.what)
		if err != nil {
			return fmt.Errorf("guard: undo %s: %w", t.kind, err)
		}
		quiet++
		if found {
			quiet = 0
		}
		if quiet == 2 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("guard: undo %s: there is always more: %w", t.kind, context.Cause(ctx))
		case <-time.After(undoPause):
		}
	}
}
