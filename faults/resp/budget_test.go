package resp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBudget: what several readers hold together is bounded, and what one gives back another may use.
func TestBudget(t *testing.T) {
	held := NewBudget(100 << 10)
	reader := func(size int) *Reader {
		return NewReader(strings.NewReader("$60000\r\n"+strings.Repeat("x", size)), Limits{Held: held})
	}
	half := reader(50_000)
	_, err := half.ReadReply()
	require.ErrorContains(t, err, "unexpected EOF", "half a message fits")
	assert.EqualValues(t, 64<<10, held.held.Load())

	other := reader(60_000)
	_, err = other.ReadReply()
	var tooMuch *LimitError
	require.ErrorAs(t, err, &tooMuch)
	assert.EqualError(t, tooMuch, "bytes of unfinished messages and unread replies: more than 102400")

	half.Close()
	half.Close()
	other.Close()
	assert.Zero(t, held.held.Load())
	next := NewReader(strings.NewReader("$60000\r\n"+strings.Repeat("x", 60_000)+"\r\n"), Limits{Held: held})
	_, err = next.ReadReply()
	require.NoError(t, err)
	next.Close()
	assert.Zero(t, held.held.Load())
}
