package tap

import "context"

// turns has one command at a time pass.
type turns struct {
	token chan struct{} // holds the turn while no goroutine has it
}

func newTurns() turns {
	t := turns{token: make(chan struct{}, 1)}
	t.token <- struct{}{}
	return t
}

// Exclusively runs fn while no command is in flight, except those that may block or are unordered (subscriptions, CLIENT, SCRIPT).
func (t *Tap) Exclusively(ctx context.Context, fn func() error) error {
	select {
	case <-t.turns.token:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return errClosed
	}
	defer t.leaveTurn()
	if t.ctx.Err() != nil {
		return errClosed
	}
	return fn()
}

// takeTurn waits for the turn; it returns false if the tap has been closed.
func (t *Tap) takeTurn() bool {
	select {
	case <-t.turns.token:
		return true
	default:
	}
	select {
	case <-t.turns.token:
		return true
	case <-t.ctx.Done():
		return false
	}
}

func (t *Tap) leaveTurn() { t.turns.token <- struct{}{} }
