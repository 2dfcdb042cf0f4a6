package measure

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker"
)

// TestCountedIsWhatTheServerGets: the counter agrees with the server, for every kind of command that a lock sends.
func TestCountedIsWhatTheServerGets(t *testing.T) {
	redis := miniredis.RunT(t)
	client, err := worker.Dial(t.Context(), redis.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	script := &impls.Script{Source: "return 1"}
	var counter counter
	server := counter.wrap().Server(client.Server())
	_, err = server.Eval(t.Context(), script, nil)
	require.NoError(t, err) // the server knows the script, and there is a connection

	rapid.Check(t, func(rt *rapid.T) {
		counter.sent.Store(0)
		before := redis.TotalConnectionCount()
		commands := redis.CommandCount()
		for _, what := range rapid.SliceOfN(rapid.SampledFrom([]string{"do", "script", "exec", "unwatch", "no keys"}), 0, 8).Draw(rt, "commands") {
			require.NoError(rt, send(t, server, script, what))
		}
		require.Equal(rt, before, redis.TotalConnectionCount(), "a new connection would send commands of its own")
		assert.Equal(rt, int64(redis.CommandCount()-commands), counter.sent.Load())
	})
}

func send(t *testing.T, server impls.Server, script *impls.Script, what string) (err error) {
	ctx := t.Context()
	switch what {
	case "do":
		_, err = server.Do(ctx, "SET", "k", "v")
	case "script":
		_, err = server.Eval(ctx, script, nil)
	case "exec":
		err = server.Watch(ctx, []string{"k"}, func(tx impls.Tx) error {
			if _, err := tx.Do(ctx, "GET", "k"); err != nil {
				return err
			}
			_, _, err := tx.Exec(ctx, impls.Command{"SET", "k", "1"}, impls.Command{"SET", "k", "2"})
			return err
		})
	case "unwatch":
		err = server.Watch(ctx, []string{"k"}, func(impls.Tx) error { return nil })
	case "no keys":
		err = server.Watch(ctx, nil, func(tx impls.Tx) error {
			_, _, err := tx.Exec(ctx, impls.Command{"GET", "k"})
			return err
		})
	}
	return err
}

// TestProgress: the rest shrinks with time, and grows if the steps before took longer than was expected.
func TestProgress(t *testing.T) {
	steps := []step{{what: "a", time: time.Second}, {what: "b", time: time.Second}, {what: "c", time: 2 * time.Second}}
	now := time.Now()
	watch := &stopwatch{steps: steps, began: now, step: now}
	assert.Equal(t, Progress{Step: 1, Steps: 3, What: "a", Took: time.Second / 2, Left: 3500 * time.Millisecond}, watch.progress(now.Add(time.Second/2)))
	watch.at, watch.step = 1, now.Add(2*time.Second) // twice as slow as expected
	assert.Equal(t, Progress{Step: 2, Steps: 3, What: "b", Took: 3 * time.Second, Left: 5 * time.Second}, watch.progress(now.Add(3*time.Second)))
	watch.at, watch.step = 2, now.Add(4*time.Second)
	assert.Zero(t, watch.progress(now.Add(time.Minute)).Left)
}

func TestEachClientBacksOffByItself(t *testing.T) {
	assert.Equal(t, "backoff:10ms,1s,8", ownSeed("backoff:10ms,1s,1", 7))
	for _, way := range []string{"", "sleep:20ms", "yield-sleep:600ms,200ms", "backoff:1ms", "backoff:10ms,1s,x"} {
		assert.Equal(t, way, ownSeed(way, 7))
	}
}
