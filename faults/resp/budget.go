package resp

import "sync/atomic"

// Budget bounds the bytes that several Readers and others hold together. A nil Budget is without bounds. It is safe for concurrent use.
type Budget struct {
	limit int64
	held  atomic.Int64
}

// NewBudget is a budget of so many bytes.
func NewBudget(limit int) *Budget { return &Budget{limit: int64(limit)} }

// Take says whether n more bytes may be held. Who may gives them back in the end.
func (b *Budget) Take(n int) bool {
	if b == nil || b.held.Add(int64(n)) <= b.limit {
		return true
	}
	b.held.Add(-int64(n))
	return false
}

// Give gives back n bytes.
func (b *Budget) Give(n int) {
	if b != nil {
		b.held.Add(-int64(n))
	}
}

// Exceeded is the error of those who may not hold more.
func (b *Budget) Exceeded() error {
	return &LimitError{What: "bytes of unfinished messages and unread replies", Limit: int(b.limit)}
}
