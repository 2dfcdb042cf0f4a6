package resp

import (
	"math"
	"sync"
)

// Budget bounds the bytes that clients make the lab keep. A part of a budget takes its bytes from the whole, too: the lab has one for all cells, a cell
// one for its connections, and a connection one that is closed with it. A nil Budget is without bounds. It is safe for concurrent use.
type Budget struct {
	what  string // whose bytes they are, in the error
	limit int
	spare int // so many of its bytes a part has to itself: they are not taken from the whole
	whole *Budget

	mu   sync.Mutex
	held int
}

// NewBudget is a budget of so many bytes. An error calls them what.
func NewBudget(what string, limit int) *Budget { return &Budget{what: what, limit: limit} }

// Part is a budget of at most limit bytes within b, of which it takes from b those beyond spare.
func (b *Budget) Part(what string, limit, spare int) *Budget {
	return &Budget{what: what, limit: limit, spare: spare, whole: b}
}

// Account is a part of b that is bounded by b alone; nil if b is nil.
func (b *Budget) Account() *Budget {
	if b == nil {
		return nil
	}
	return b.Part(b.what, math.MaxInt, 0)
}

// Take asks for n more bytes to be held. The error, a *LimitError, names the budget that has not so many left; then none is taken.
func (b *Budget) Take(n int) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.held {
		return &LimitError{What: b.what, Limit: b.limit}
	}
	if err := b.whole.Take(b.beyond(b.held+n) - b.beyond(b.held)); err != nil {
		return err
	}
	b.held += n
	return nil
}

// beyond is how many of held bytes are taken from the whole.
func (b *Budget) beyond(held int) int { return max(0, held-b.spare) }

// Give gives back n bytes.
func (b *Budget) Give(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole.Give(b.beyond(b.held) - b.beyond(b.held-n))
	b.held -= n
}

// Resize gives back bytes that are held no more, or takes more.
func (b *Budget) Resize(from, to int) error {
	if to < from {
		b.Give(from - to)
		return nil
	}
	return b.Take(to - from)
}

// Close gives back all bytes that are held.
func (b *Budget) Close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	b.Give(held)
}
