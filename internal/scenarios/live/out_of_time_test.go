package live

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/internal/scenarios/play"
)

// TestOutOfTime: a cell that took too long says what was under way, if that is known.
func TestOutOfTime(t *testing.T) {
	t.Parallel()
	slow := errors.New("the cell took longer than 1m0s")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, slow)
	defer cancel()
	<-ctx.Done()
	tests := []struct {
		err  error
		want string
	}{
		{ctx.Err(), "the cell took longer than 1m0s"},
		{slow, "the cell took longer than 1m0s"},
		{fmt.Errorf("start an ensemble: no leader: %w", ctx.Err()), "the cell took longer than 1m0s: start an ensemble: no leader: context deadline exceeded"},
		{play.Undecided("C1 did not answer acquire: %v", slow), "C1 did not answer acquire: the cell took longer than 1m0s"},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, endOf(ctx, test.err).Detail.Why)
	}

	assert.Equal(t, "the cell ran out of time: dial", endOf(due{t.Context()}, errors.New("dial")).Detail.Why)
}

// due is a context whose deadline has come, and which has not ended yet.
type due struct{ context.Context }

func (due) Deadline() (time.Time, bool) { return time.Now(), true }
