package past

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// The code runs once for each past, and what its lock declares ends a past.
func TestPasts(t *testing.T) {
	t.Parallel()
	spec, _ := impls.Find("setpx-lua")
	l := New(Config{Lock: spec, Options: impls.Options{Key: "k", Lease: time.Second}, Counter: "n", Servers: 1}, Known{})
	defer l.Close()
	after := func(m *Moment, in Input) *Moment {
		next, err := l.After(m, in, Reading{})
		require.NoError(t, err)
		return next
	}
	start, err := l.Start(0)
	require.NoError(t, err)
	assert.True(t, start.Idle())
	asks := after(start, Input{Kind: Call, Op: history.OpAcquire})
	assert.True(t, asks.Operates(asks.Main))
	assert.Equal(t, [][]string{{"SET", "k", "C1#a", "NX", "PX", "1000"}}, asks.Wait(asks.Main).Commands)
	held := after(asks, Input{Kind: Reply, Task: asks.Main, Replies: []service.Reply{{Kind: service.Status, Text: "OK"}}})
	require.Len(t, held.Notices, 1)
	assert.Equal(t, process.Returned, held.Notices[0].Kind)
	assert.Equal(t, history.OK, held.Notices[0].Answer.Outcome)
	runs := l.Runs
	assert.Same(t, asks, after(start, Input{Kind: Call, Op: history.OpAcquire}))
	assert.Equal(t, runs, l.Runs)

	refused := after(asks, Input{Kind: Reply, Task: asks.Main, Replies: []service.Reply{{}}})
	again := after(refused, Input{Kind: Call, Op: history.OpAcquire})
	twice := after(again, Input{Kind: Reply, Task: again.Main, Replies: []service.Reply{{}}})
	assert.NotEqual(t, held.Kept, refused.Kept)
	assert.NotSame(t, refused.Rest, twice.Rest, "another token was given")
}

// What an error says of a lock is known from then on.
func TestLearn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err    error
		differ bool
		want   Known
		more   bool
	}{
		{errLimits, true, Known{Limits: true}, true},
		{errReads, true, Known{Clocks: Differences}, true},
		{errReads, false, Known{Clocks: Absolute}, true},
		{errAbsolute, true, Known{Clocks: Absolute}, true},
		{errSession, true, Known{}, false},
		{nil, true, Known{}, false},
	} {
		known, more := Known{}.Learn(test.err, test.differ)
		assert.Equal(t, test.want, known, test.err)
		assert.Equal(t, test.more, more, test.err)
	}
}
