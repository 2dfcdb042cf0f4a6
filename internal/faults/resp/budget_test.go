package resp

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestBudget: what several readers hold together is bounded, and what one gives back another may use.
func TestBudget(t *testing.T) {
	held := NewBudget("bytes that readers hold", 100<<10)
	reader := func(size int) *Reader {
		return NewReader(strings.NewReader("$60000\r\n"+strings.Repeat("x", size)), Limits{Held: held})
	}
	half := reader(50_000)
	_, err := half.ReadReply()
	require.ErrorContains(t, err, "unexpected EOF", "half a message fits")
	assert.EqualValues(t, 64<<10, held.held)

	other := reader(60_000)
	_, err = other.ReadReply()
	var tooMuch *LimitError
	require.ErrorAs(t, err, &tooMuch)
	assert.EqualError(t, tooMuch, "bytes that readers hold: more than 102400")

	half.Close()
	half.Close()
	other.Close()
	assert.Zero(t, held.held)
	next := NewReader(strings.NewReader("$60000\r\n"+strings.Repeat("x", 60_000)+"\r\n"), Limits{Held: held})
	_, err = next.ReadReply()
	require.NoError(t, err)
	next.Close()
	assert.Zero(t, held.held)
}

// TestArgumentsAreCharged: many small arguments take more room than their bytes. It is given back when the next request is read.
func TestArgumentsAreCharged(t *testing.T) {
	for name, wire := range map[string]string{
		"array":  "*10000\r\n" + strings.Repeat("$1\r\nx\r\n", 10_000),
		"inline": strings.Repeat("x ", 10_000) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			held := NewBudget("bytes", 1<<20)
			r := NewReader(strings.NewReader(wire+"*1\r\n$4\r\nPING\r\n"), Limits{Held: held})
			request, err := r.ReadRequest()
			require.NoError(t, err)
			require.Len(t, request.Args, 10_000)
			assert.GreaterOrEqual(t, held.held-len(r.buf), 10_000*40, "a span and a slice for each")
			request, err = r.ReadRequest()
			require.NoError(t, err)
			require.Len(t, request.Args, 1)
			assert.Less(t, held.held, 256<<10)
			_, err = r.ReadRequest()
			require.ErrorIs(t, err, io.EOF)
			r.Close()
			assert.Zero(t, held.held)
			assert.Nil(t, r.args)

			few := NewReader(strings.NewReader(wire), Limits{Held: NewBudget("bytes", 256<<10)})
			_, err = few.ReadRequest()
			require.EqualError(t, err, "bytes: more than 262144")
		})
	}
}

// TestPartsOfABudget: a part has bytes to itself, takes the others from the whole, and gives all of them back.
func TestPartsOfABudget(t *testing.T) {
	whole := NewBudget("the lab's bytes", 100)
	a, b := whole.Part("a's bytes", 90, 10), whole.Part("b's bytes", 90, 10)
	require.NoError(t, a.Take(80))
	require.EqualError(t, a.Take(11), "a's bytes: more than 90")
	require.NoError(t, b.Take(40))
	require.EqualError(t, b.Take(1), "the lab's bytes: more than 100")
	b.Give(10)
	connection := a.Account()
	require.NoError(t, connection.Take(10))
	require.EqualError(t, connection.Take(1), "a's bytes: more than 90")
	connection.Close()
	a.Give(75)
	require.Equal(t, 20, whole.held)
	require.NoError(t, b.Take(50))
	a.Close()
	b.Close()
	require.Zero(t, whole.held)
	require.NoError(t, (*Budget)(nil).Account().Take(1<<40))
}

// TestBudgetsAddUp: whatever is taken and given back, the whole holds what its parts have beyond what is theirs.
func TestBudgetsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := NewBudget("whole", 500)
		var parts []*Budget
		for range 3 {
			parts = append(parts, whole.Part("part", 300, rapid.IntRange(0, 50).Draw(t, "spare")))
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			p := rapid.SampledFrom(parts).Draw(t, "part")
			if n := rapid.IntRange(-100, 200).Draw(t, "bytes"); n > 0 {
				_ = p.Take(n)
			} else {
				p.Give(min(-n, p.held))
			}
			sum := 0
			for _, p := range parts {
				sum += p.beyond(p.held)
			}
			require.Equal(t, sum, whole.held)
		}
	})
}
