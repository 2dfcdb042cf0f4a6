package explore

import (
	"context"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// asking asks the server something before it takes the lock.
type asking struct {
	plain
	script, command string
}

func (l *asking) TryAcquire(ctx context.Context) (bool, error) {
	var err error
	if l.script != "" {
		_, err = l.env.Server().Eval(ctx, &impls.Script{Source: l.script}, nil)
	} else {
		_, err = l.env.Server().Do(ctx, l.command, learn.LockKey)
	}
	if err != nil {
		return false, err
	}
	return l.plain.TryAcquire(ctx)
}

func askingLock(script, command string) impls.Spec {
	return stranger(func(p plain) impls.Lock { return &asking{plain: p, script: script, command: command} })
}

// A real server may know what the model does not, so nothing is said about a lock that asks for it.
func TestWhatTheModelDoesNotKnowIsNotExplored(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]impls.Spec{
		"does not know cjson in a script": askingLock(`return cjson.encode({})`, ""),
		"does not know TIME":              askingLock(`return redis.call("TIME")`, ""),
		"which scripts a server has met":  askingLock("", "SCRIPT"),
		"does not know OBJECT k":          askingLock("", "OBJECT"),
	} {
		_, err := Explore(context.Background(), Config{Lock: spec}.Usual())
		require.ErrorContains(t, err, "stranger cannot be explored")
		assert.ErrorContains(t, err, want)
	}
}

// A try that ends in an error is called again at once, for ever. The search ends all the same, and says that nobody ever had the lock.
func TestEveryTryEndsInAnError(t *testing.T) {
	t.Parallel()
	config := Config{Lock: askingLock(`return redis.error_reply("NO luck")`, ""), Clients: 2, Time: time.Minute, Budget: spend(faults.Pause, faults.Crash)}
	config.Only = []checker.Name{checker.StuckLock}
	result, err := Explore(context.Background(), config.Usual())
	require.NoError(t, err)
	assert.True(t, result.Complete(), result.Limit)
	assert.True(t, result.Vacuous())
}

// elsewhere is a lock under a key that only it knows.
type elsewhere struct{ plain }

func (l *elsewhere) TryAcquire(ctx context.Context) (bool, error) {
	return l.set(ctx, l.env.Server(), "lock:"+learn.LockKey, l.env.Token(), "NX")
}

func (l *elsewhere) Release(ctx context.Context) (bool, error) {
	return l.free(ctx, l.env.Server(), "lock:"+learn.LockKey)
}

// Whose the lock is, its key says. Where no command names that, nothing of the kind has been judged.
func TestALockThatDoesNotNameItsKeyIsNotCleared(t *testing.T) {
	t.Parallel()
	spec := stranger(func(p plain) impls.Lock { return &elsewhere{p} })
	result, err := Explore(context.Background(), Config{Lock: spec, Clients: 2, Budget: Budget{}}.Usual())
	require.NoError(t, err)
	assert.True(t, result.Complete())
	assert.Contains(t, result.Coverage, "held")
	assert.True(t, result.Unnamed)
	assert.True(t, result.Vacuous())
}

// waiter remembers when it was refused first, by the clock of the machine that explores it.
type waiter struct {
	plain
	since time.Time
}

func (l *waiter) State() any {
	return struct {
		value string
		since time.Time
	}{l.value, l.since}
}

func (l *waiter) TryAcquire(ctx context.Context) (bool, error) {
	taken, err := l.plain.TryAcquire(ctx)
	switch {
	case taken || err != nil:
		return taken, err
	case l.since.IsZero():
		l.since = time.Now()
	case time.Since(l.since) > l.lease/2:
		return l.take(ctx, l.env.Token())
	}
	return false, nil
}

// No time passes on the real clock while a lock is explored, so one that goes by it is not explored.
func TestALockThatRemembersARealTimeIsReported(t *testing.T) {
	t.Parallel()
	spec := stranger(func(p plain) impls.Lock { return &waiter{plain: p} })
	_, err := Explore(context.Background(), Config{Lock: spec, Clients: 2}.Usual())
	assert.ErrorContains(t, err, "it keeps a time of the real clock")
}
