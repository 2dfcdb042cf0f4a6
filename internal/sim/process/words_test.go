package process

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type level int

// What go-redis 9 sends, by its proto.Writer.
func TestWordsAreThoseOfTheClientLibrary(t *testing.T) {
	t.Parallel()
	text, number, second := "x", 5, time.Second
	var noText *string
	var noNumber *int64
	at := time.Date(2020, 1, 2, 3, 4, 5, 600, time.UTC)
	got, err := Words([]any{
		"x", nil, []byte("C1#a"), 7, int8(-1), uint64(math.MaxUint64), 1e21, float32(.5), true, false, time.Second, at,
		&text, &number, &second, noText, noNumber, &at,
	})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"x", "", "C1#a", "7", "-1", "18446744073709551615", "1000000000000000000000", "0.5", "1", "0", "1000000000", "2020-01-02T03:04:05.0000006Z",
		"x", "5", "1000000000", "", "0", "2020-01-02T03:04:05.0000006Z",
	}, got)
	for _, refused := range []any{level(1), []string{"x"}, struct{}{}, new(level)} {
		_, err := Words([]any{"x", refused})
		assert.ErrorContains(t, err, "can't marshal")
	}
}
