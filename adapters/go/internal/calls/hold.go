package calls

import "context"

// Hold is a hold that a library ends by functions, which report nothing and which nothing cancels.
type Hold struct{ end func() }

// Begin notes how the hold ends. lost is called if ctx ends before.
func (h *Hold) Begin(ctx context.Context, lost func(), ends ...func()) {
	untold := context.AfterFunc(ctx, lost)
	h.end = func() {
		untold()
		for _, end := range ends {
			end()
		}
	}
}

// End ends the hold, if there is one, and waits for that as long as ctx lasts.
func (h *Hold) End(ctx context.Context) (bool, error) {
	end := h.end
	if h.end = nil; end == nil {
		return false, nil
	}
	return Outcome(Leave(ctx, func() error { end(); return nil }, nil))
}
