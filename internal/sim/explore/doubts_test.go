package explore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// claiming says for how long its lock is valid, which it works out after a second command.
type claiming struct {
	plain
	begun, valid time.Duration
	code         int // of claims
}

func (l *claiming) TryAcquire(ctx context.Context) (bool, error) {
	l.begun = l.env.Monotonic()
	ok, err := l.plain.TryAcquire(ctx)
	if !ok || err != nil {
		return false, err
	}
	if _, err := l.env.Server().Do(ctx, "GET", lockKey); err != nil {
		return false, err
	}
	l.valid = claims.at(l.code)(l.lease, l.env.Monotonic()-l.begun)
	return l.valid > 0, nil
}

func (l *claiming) Valid() time.Duration { return l.valid }

// claim is for how long a lock is valid, by its lease and by what its acquire took.
type claim = func(lease, took time.Duration) time.Duration

var claims numbered[claim]

func whoseValidityIs(c claim) func(plain) impls.Lock {
	code := claims.add(c)
	return func(p plain) impls.Lock { return &claiming{plain: p, code: code} }
}

// during is a lock that is valid for a whole lease if its acquire took so many parts of it.
func during(from, to float64) claim {
	return func(lease, took time.Duration) time.Duration {
		if part := float64(took) / float64(lease); part > from && part < to {
			return lease
		}
		return lease - took
	}
}

// These read a clock, and what they go by is followed.
var soundTimekeepers = []strange{
	{name: "valid for what is left of the lease", made: whoseValidityIs(func(lease, took time.Duration) time.Duration { return lease - took })},
	{name: "less a margin", made: whoseValidityIs(func(lease, took time.Duration) time.Duration { return lease - took - lease/100 - 2*time.Millisecond })},
	{name: "less a hundredth of what it took", made: whoseValidityIs(func(lease, took time.Duration) time.Duration { return lease - took - took/100 })},
	{name: "for half of what is left, unless that was quick", made: whoseValidityIs(func(lease, took time.Duration) time.Duration {
		if took > lease/3 {
			return (lease - took) / 2
		}
		return lease - took
	})},
}

// These go by what the search does not follow.
var doubted = []strange{
	{name: "valid for a lease, for 20 ms", only: holders, faults: pauses(1), made: whoseValidityIs(during(.5, .516))},
	{name: "two windows in one try", only: overwrites, faults: pauses(2), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok || err != nil {
			return ok, err
		}
		var at [3]time.Time
		for i := range at {
			at[i] = l.env.Now()
			if _, err := l.env.Server().Do(ctx, "GET", lockKey); err != nil {
				return false, err
			}
		}
		if l.between(at[1].Sub(at[0]), .3, .5) && l.between(at[2].Sub(at[1]), .3, .5) {
			return l.take(ctx, l.env.Token())
		}
		return false, nil
	}, nil)},
	{name: "a window in the try, and one in the release", only: strays[:1], faults: pauses(2), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		a := l.env.Now()
		ok, err := l.plain.TryAcquire(ctx)
		l.t = l.env.Now()
		if l.n = 0; l.between(l.t.Sub(a), .2, .4) {
			l.n = 1
		}
		return ok, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		if l.n == 1 && l.between(l.env.Now().Sub(l.t), 1.2, 1.5) {
			return l.del(ctx)
		}
		return l.plain.Release(ctx)
	})},
	{name: "a release reads the clock only after a window", only: strays[:1], faults: pauses(2), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		a := l.env.Now()
		ok, err := l.plain.TryAcquire(ctx)
		l.t = l.env.Now()
		l.n = int(l.t.Sub(a))
		return ok, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		if l.between(time.Duration(l.n), .2, .4) && l.between(l.env.Now().Sub(l.t), 1.2, 1.5) {
			return l.del(ctx)
		}
		return l.plain.Release(ctx)
	})},
	{name: "a lease of eight times the length after a while", only: []checker.Name{checker.FenceRegression}, faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		a := l.env.Now()
		if _, err := l.env.Server().Do(ctx, "GET", lockKey); err != nil {
			return false, err
		}
		lease, mine := l.lease, l.env.Token()
		if l.between(l.env.Now().Sub(a), .3, .6) {
			lease *= 8
		}
		reply, err := l.env.Server().Do(ctx, "SET", lockKey, mine, "NX", "PX", lease.Milliseconds())
		l.value = mine
		return reply == "OK", err
	}, nil)},
	{name: "a lease of five times the length, beside a clock", only: holders, faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		_, mine := l.env.Now(), l.env.Token()
		reply, err := l.env.Server().Do(ctx, "SET", lockKey, mine, "NX", "PX", 5*l.lease.Milliseconds())
		l.value = mine
		return reply == "OK", err
	}, nil)},
	{name: "how old another's stamp was at the try before", only: strays[:1], faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := strconv.FormatInt(l.env.Now().UnixMilli(), 10) + " " + l.env.Token()
		reply, err := l.env.Server().Do(ctx, "SETNX", lockKey, mine)
		if l.value = mine; reply == int64(1) || err != nil {
			return err == nil, err
		}
		seen, err := l.env.Server().Do(ctx, "GET", lockKey)
		stamp, _, isStamp := strings.Cut(fmt.Sprint(seen), " ")
		if err != nil || !isStamp {
			return false, err
		}
		written, _ := strconv.ParseInt(stamp, 10, 64)
		was := time.Duration(l.n)
		l.n = int(l.env.Now().Sub(time.UnixMilli(written)))
		switch {
		case l.between(was, .3, .5):
			return l.del(ctx)
		case l.between(time.Duration(l.n), 2, 100):
			return l.take(ctx, mine)
		}
		return false, nil
	}, nil)},
	{name: "by force with a token that begins with A", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		if strings.HasPrefix(mine, "A") {
			return l.take(ctx, mine)
		}
		return l.try(ctx, mine)
	}, nil)},
	{name: "one of eight values, by its token", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		return l.try(ctx, string('a'+mine[len(mine)-1]%8))
	}, nil)},
	{name: "by chance, once in a million times", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if rand.IntN(1_000_000) == 0 {
			return l.take(ctx, l.env.Token())
		}
		return l.plain.TryAcquire(ctx)
	}, nil)},
	{name: "by force when the program is an hour old", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if time.Since(programBegan) > time.Hour {
			return l.take(ctx, l.env.Token())
		}
		return l.plain.TryAcquire(ctx)
	}, nil)},
	{name: "a helper's helper reads a real clock", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if isOld() {
			return l.take(ctx, l.env.Token())
		}
		return l.plain.TryAcquire(ctx)
	}, nil)},
	{name: "a background task reads a real clock", made: script(nil, func(l *scripted, ctx context.Context) (bool, error) {
		l.env.Go(func(ctx context.Context) {
			if l.env.Sleep(ctx, l.lease/7) == nil && isOld() {
				_, _ = l.del(ctx)
			}
		})
		return l.plain.Release(ctx)
	})},
}

// drowsy takes the lock by force after some refusals, and a task of it sleeps meanwhile.
type drowsy struct {
	plain
	most, refusals int
	stop           func()
	count          func(*drowsy) int // the refusals so far
	counted        func() int
	words          chan int
}

func (l *drowsy) TryAcquire(ctx context.Context) (bool, error) {
	if l.stop == nil {
		l.stop = l.env.Go(func(ctx context.Context) { _ = l.env.Sleep(ctx, 3*l.lease) })
	}
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil || l.count == nil {
		return ok, err
	}
	if l.count(l) >= l.most {
		return l.take(ctx, l.env.Token())
	}
	return false, nil
}

func countsInAField(l *drowsy) int {
	l.refusals++
	return l.refusals
}

func countsInAVariable(l *drowsy) int {
	if l.counted == nil {
		n := 0
		l.counted = func() int { n++; return n }
	}
	return l.counted()
}

func countsInAChannel(l *drowsy) int {
	if l.words == nil {
		l.words = make(chan int, 1000)
	}
	l.words <- 1
	return len(l.words)
}

func countsInWhatIsShared(l *drowsy) int {
	n := l.env.Shared("refusals", func() any { return new(int) }).(*int)
	*n++
	return *n
}

// Beside a background task refused tries that change what a lock remembers, or may change it, are repeated as a sample.
func TestRefusalsBesideATaskAreRepeated(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]func(*drowsy) int{
		"in a field": countsInAField, "in a variable": countsInAVariable, "in a channel": countsInAChannel, "in what is shared": countsInWhatIsShared,
	} {
		t.Run(name, func(t *testing.T) {
			if name != "in a field" {
				needs.Long(t, "a long search")
			}
			t.Parallel()
			for most, noticed := range map[int]bool{3: true, 9: true, 1000: false} {
				s := strange{only: overwrites, made: func(p plain) impls.Lock { return &drowsy{plain: p, most: most, count: count} }}
				result := s.explore(t)
				assert.Nil(t, result.Found)
				assert.True(t, result.Tired)
				assert.Equal(t, noticed, result.Doubt != "", result.Doubt)
			}
		})
	}
}

// A refused try that changes nothing is not repeated, also beside a background task.
func TestRefusalsThatChangeNothingBesideATask(t *testing.T) {
	t.Parallel()
	s := strange{only: overwrites, made: func(p plain) impls.Lock { return &drowsy{plain: p} }}
	result := s.explore(t)
	assert.True(t, result.Complete(), result.Doubt)
	assert.False(t, result.Tired)
}

// These were, and are found to be broken now.
var followed = []strange{
	{name: "valid for a lease after a while", only: holders, faults: pauses(2), made: whoseValidityIs(during(.25, .75))},
	{name: "by force with an odd token", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		if mine[len(mine)-1]%2 == 1 {
			return l.take(ctx, mine)
		}
		return l.try(ctx, mine)
	}, nil)},
	{name: "another key with an odd token", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine, key := l.env.Token(), lockKey
		if mine[len(mine)-1]%2 == 1 {
			key = "other"
		}
		return l.set(ctx, l.env.Server(), key, mine, "NX")
	}, nil)},
}

var programBegan = time.Now()

// The two are functions of their own in the program, too.
//
//go:noinline
func isOld() bool { return age() > time.Hour }

//go:noinline
func age() time.Duration {
	now := time.Now()
	return now.Sub(programBegan)
}

func pauses(n int) (list []faults.Kind) {
	for range n {
		list = append(list, faults.Pause)
	}
	return list
}

func (s *strange) explore(t *testing.T) *Result {
	t.Helper()
	config := Config{Lock: stranger(s.made), Clients: cmp.Or(s.clients, 2), Rounds: cmp.Or(s.rounds, 1), Only: s.only, States: 3_000_000, Budget: spend(s.faults...)}
	result, err := Explore(context.Background(), config.Usual())
	require.NoError(t, err)
	require.Empty(t, result.Disputed)
	return result
}

// Nothing is shown of a lock that goes by what the search does not follow.
func TestWhatIsNotFollowedIsNoticed(t *testing.T) {
	needs.Long(t, "searches that take much memory")
	t.Parallel()
	for _, s := range slices.Concat(doubted, lossReaders) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			result := s.explore(t)
			assert.Nil(t, result.Found)
			assert.NotEmpty(t, result.Doubt)
			assert.False(t, result.Complete())
		})
	}
}

func TestSoundTimekeepersAreTrusted(t *testing.T) {
	needs.Long(t, "searches that take much memory")
	t.Parallel()
	for _, s := range soundTimekeepers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.only, s.faults = holders, pauses(1)
			result := s.explore(t)
			assert.Nil(t, result.Found)
			assert.True(t, result.Complete(), result.Doubt)
		})
	}
}

// These write when their lease ends and compare what is there with it. At other times they find what they have written then.
func TestWrittenTimesAreAnswered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lock   string
		rounds int
		budget Budget
	}{
		{"getset", 1, Budget{faults.Pause: 1}},
		{"getset", 2, Budget{faults.Pause: 1}},
		{"getset-nil-expired", 1, Budget{faults.Pause: 1}},
		{"getset-nil-expired", 2, Budget{faults.Pause: 1}},
		{"getset-nil-lost", 2, Budget{faults.Pause: 1}},
		{"getset-published", 1, Budget{faults.Pause: 1, faults.Crash: 1, faults.ClockAhead: 1}},
		{"getset-published", 2, Budget{faults.Pause: 1}},
	} {
		t.Run(fmt.Sprint(test.lock, " ", test.rounds), func(t *testing.T) {
			t.Parallel()
			if test.lock != "getset-nil-expired" || test.rounds > 1 {
				needs.Long(t, "a long search")
			}
			config := Config{Lock: lock(t, test.lock), Clients: 2, Rounds: test.rounds, Only: []checker.Name{checker.FenceRegression}, Budget: test.budget}
			result, err := Explore(t.Context(), config.Usual())
			require.NoError(t, err)
			assert.True(t, result.Complete(), result.Doubt)
		})
	}
}

func TestWindowsOfValidityAndTokensAreFollowed(t *testing.T) {
	needs.Long(t, "searches that take much memory")
	t.Parallel()
	for _, s := range followed {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			assert.NotNil(t, s.explore(t).Found)
		})
	}
}

// Samples of a large search take seconds: they end with the context.
func TestSamplesEndWithTheirContext(t *testing.T) {
	x := newExplorer(Config{Lock: lock(t, "setpx-lua")}.Usual(), traits{symmetric: true})
	defer x.automaton.close()
	require.NoError(t, x.search(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	doubt, err := x.doubts(ctx)
	require.NoError(t, err)
	require.Empty(t, doubt)
	cancel()
	_, err = x.doubts(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = newSampler(x.automaton).checkTokens(ctx, []uint32{0})
	require.ErrorIs(t, err, context.Canceled)
}
