package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Undo removes what a lab has left on a foreign server: all that it was told of, in this order. It says whether there was anything, and must
// return when the context ends.
type Undo func(ctx context.Context, what []string) (found bool, err error)

// undoPatience bounds one undo: a foreign server may be gone.
const undoPatience = 5 * time.Second

// undoPause lies between two calls of the same undo.
const undoPause = 50 * time.Millisecond

// task is what one Undo has to undo.
type task struct {
	kind string
	what []string
}

// Undo has the guard process run the Undo of this kind when the lab ends, however it ends. Call it before there is anything to undo. A
// kind has no spaces, and neither argument has line breaks.
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

// ForgetUndo takes back all calls of Undo with this kind: the lab has undone it by itself.
func (g *Guard) ForgetUndo(kind string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("guard: forget undo %s: %w", kind, errClosed)
	}
	return g.tellLocked("forget undo", kind)
}

// toUndo follows a line about something to be undone.
func (w *wards) toUndo(kind, what string, forget bool) error {
	if w.undos[kind] == nil || (what == "") != forget {
		return errors.New("nothing that can be undone")
	}
	at := slices.IndexFunc(w.tasks, func(t task) bool { return t.kind == kind })
	switch {
	case forget && at >= 0:
		w.tasks = slices.Delete(w.tasks, at, at+1)
	case forget:
	case at >= 0:
		w.tasks[at].what = append(w.tasks[at].what, what)
	default:
		w.tasks = append(w.tasks, task{kind, []string{what}})
	}
	return nil
}

// undo calls the task's Undo until it finds nothing twice in a row: what the lab sent just before its end may take effect after it.
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
