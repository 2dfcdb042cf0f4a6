package explore

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// leased keeps a context that ends with its lease, and deletes the lock if that has ended.
type leased struct {
	plain
	held  context.Context
	end   func()
	polls bool
	child bool // it goes by a context made of that one
}

func (l *leased) TryAcquire(ctx context.Context) (bool, error) {
	held, end := l.env.WithTimeout(context.WithoutCancel(ctx), l.lease)
	ok, err := l.plain.TryAcquire(ctx)
	if !ok {
		end()
		return ok, err
	}
	if l.held, l.end = held, end; l.child {
		within, stop := context.WithCancel(held)
		l.held, l.end = within, func() { stop(); end() }
	}
	return true, nil
}

func (l *leased) Release(ctx context.Context) (bool, error) {
	defer l.end()
	over := false
	if !l.polls {
		over = l.held.Err() != nil
	} else {
		select {
		case <-l.held.Done():
			over = true
		default:
		}
	}
	if over {
		return l.del(ctx)
	}
	return l.plain.Release(ctx)
}

// stampedBy takes over from a stamp that is over, by one of its clocks.
type stampedBy struct {
	plain
	wall bool
}

func (l *stampedBy) now() int64 {
	if l.wall {
		return l.env.Now().UnixMilli()
	}
	return l.env.Monotonic().Milliseconds()
}

func (l *stampedBy) TryAcquire(ctx context.Context) (bool, error) {
	mine := fmt.Sprint(l.now()+l.lease.Milliseconds(), " ", l.env.Token())
	n, err := l.env.Server().Do(ctx, "SETNX", lockKey, mine)
	if l.value = mine; err != nil || n == int64(1) {
		return err == nil, err
	}
	seen, err := l.env.Server().Do(ctx, "GET", lockKey)
	var ends int64
	if _, unreadable := fmt.Sscan(fmt.Sprint(seen), &ends); err != nil || unreadable != nil || l.now() <= ends {
		return false, err
	}
	_, err = l.free(ctx, l.env.Server(), lockKey+fmt.Sprint(seen))
	return false, err
}

// numberedProcess takes the number of its process for a name.
type numberedProcess struct {
	plain
	taken int
}

func (l *numberedProcess) TryAcquire(ctx context.Context) (bool, error) {
	l.taken++
	return l.try(ctx, fmt.Sprint(os.Getpid(), ":", l.taken))
}

// Whether these hold is not shown: time-outs that end nothing, clocks of several machines, and what comes after many renewals are not followed.
func TestWhatLibrariesDoBesideIsNoticed(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]strange{
		"a time-out of its own":    {only: strays, faults: pauses(1), made: func(p plain) impls.Lock { return &leased{plain: p} }},
		"time-out of its own is":   {only: strays, faults: pauses(1), made: func(p plain) impls.Lock { return &leased{plain: p, polls: true} }},
		"time-out of its own":      {only: strays, faults: pauses(1), made: func(p plain) impls.Lock { return &leased{plain: p, child: true} }},
		"monotonic clock":          {only: holders, made: func(p plain) impls.Lock { return &stampedBy{plain: p} }},
		"a background task, which": {only: holders, faults: longHolds, made: func(p plain) impls.Lock { return &quitter20{plain: p} }},
	} {
		t.Run(want, func(t *testing.T) {
			lock := stranger(s.made)
			lock.Renews = true
			result, err := Explore(t.Context(), Config{Lock: lock, Clients: 2, Only: s.only, Budget: spend(s.faults...)}.Usual())
			require.NoError(t, err)
			assert.Nil(t, result.Found)
			assert.Contains(t, result.Doubt, want)
			assert.False(t, result.Complete())
		})
	}
}

// quitter20 renews its lock twenty times.
type quitter20 struct {
	plain
	stop func()
}

func (l *quitter20) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if ok {
		mine := l.value
		l.stop = l.env.Go(func(ctx context.Context) {
			for range 20 {
				if l.env.Sleep(ctx, l.lease/3) != nil {
					return
				}
				_, _ = l.env.Server().Eval(ctx, &impls.Script{Source: compareAndExpire}, []string{lockKey}, mine, l.lease.Milliseconds())
			}
		})
	}
	return ok, err
}

func (l *quitter20) Release(ctx context.Context) (bool, error) {
	l.stop()
	return l.plain.Release(ctx)
}

// Wall clocks of several machines show the same, so stamps of theirs can be compared.
func TestStampsOfWallClocksAreShown(t *testing.T) {
	t.Parallel()
	lock := stranger(func(p plain) impls.Lock { return &stampedBy{plain: p, wall: true} })
	lock.Renews = true
	result, err := Explore(t.Context(), Config{Lock: lock, Clients: 2, Only: holders, Budget: spend()}.Usual())
	require.NoError(t, err)
	assert.Nil(t, result.Found)
	assert.True(t, result.Complete(), result.Doubt)
}

// notesProcess takes the lock from whoever has it. The number of its process it only notes.
type notesProcess struct {
	plain
	process int
}

func (l *notesProcess) TryAcquire(ctx context.Context) (bool, error) {
	l.process = os.Getpid()
	return l.take(ctx, l.env.Token())
}

// All clients of a search are one process: a lock that names its holder after it is not explored, and one that only knows its number is.
func TestNumbersOfProcessesAreNoticed(t *testing.T) {
	t.Parallel()
	config := Config{Lock: stranger(func(p plain) impls.Lock { return &numberedProcess{plain: p} }), Clients: 2, Rounds: 2, Only: strays, Budget: spend(faults.Pause), Numbers: []string{fmt.Sprint(os.Getpid())}}
	_, err := Explore(t.Context(), config.Usual())
	require.ErrorContains(t, err, "asks for the number of its process")

	config.Lock, config.Only = stranger(func(p plain) impls.Lock { return &notesProcess{plain: p} }), holders
	result, err := Explore(t.Context(), config.Usual())
	require.NoError(t, err)
	assert.NotNil(t, result.Found)
}
