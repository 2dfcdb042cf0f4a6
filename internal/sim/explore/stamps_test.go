package explore

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// wholeSeconds writes when it took the lock, and takes over when that is so many seconds ago. The key has no end.
type wholeSeconds struct {
	plain
	until  time.Duration // it is valid
	layout string        // of time.Format; empty: as Unix writes it
	after  int64
}

func (l *wholeSeconds) stamp() string {
	if l.layout != "" {
		return l.env.Now().UTC().Format(l.layout)
	}
	return strconv.FormatInt(l.env.Now().Unix(), 10)
}

func (l *wholeSeconds) age(stamp string) int64 {
	at, _ := strconv.ParseInt(stamp, 10, 64)
	if l.layout != "" {
		then, _ := time.Parse(l.layout, stamp)
		at = then.Unix()
	}
	return l.env.Now().Unix() - at
}

func (l *wholeSeconds) TryAcquire(ctx context.Context) (bool, error) {
	l.until = l.env.Monotonic() + l.lease
	l.value = l.stamp() + " " + l.env.Token()
	n, err := l.env.Server().Do(ctx, "SETNX", lockKey, l.value)
	if n == int64(1) || err != nil {
		return err == nil, err
	}
	seen, err := l.env.Server().Do(ctx, "GET", lockKey)
	theirs, there := seen.(string)
	if err != nil || !there {
		return false, err
	}
	if stamp, _, _ := strings.Cut(theirs, " "); l.age(stamp) < l.after {
		return false, nil
	}
	n, err = l.env.Server().Eval(ctx, &impls.Script{Source: `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end redis.call("SET", KEYS[1], ARGV[2]) return 1`}, []string{lockKey}, theirs, l.value)
	return n == int64(1), err
}

func (l *wholeSeconds) Valid() time.Duration { return l.until - l.env.Monotonic() }

func seconds(after int64, layout string) func(plain) impls.Lock {
	return func(p plain) impls.Lock { return &wholeSeconds{plain: p, layout: layout, after: after} }
}

// secondsKeeper deletes a token that it has seen for two seconds by its own count, which may be just more than one.
type secondsKeeper struct {
	plain
	seen  string
	since int64
}

func (l *secondsKeeper) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil {
		return ok, err
	}
	v, err := l.env.Server().Do(ctx, "GET", lockKey)
	seen, _ := v.(string)
	switch now := l.env.Now().Unix(); {
	case err != nil || seen == "":
	case seen != l.seen:
		l.seen, l.since = seen, now
	case now-l.since >= 2:
		_, err = l.env.Server().Eval(ctx, &impls.Script{Source: compareAndDelete}, []string{lockKey}, seen)
	}
	return false, err
}

// rounded are locks that go by whole seconds. A lease is longer than one.
var rounded = []strange{
	{name: "takes over after two seconds", only: holders, faults: pauses(1), made: seconds(2, "")},
	{name: "takes over after two seconds, which it writes as people do", only: holders, faults: pauses(1), made: seconds(2, time.RFC3339)},
	{name: "keeps the second", only: strays[:1], faults: pauses(1), made: func(p plain) impls.Lock { return &secondsKeeper{plain: p} }},
	{name: "its lease begins with the server's second", only: holders, faults: pauses(1), made: onServer("0")},
	{name: "the server's seconds", only: holders, faults: pauses(1), made: validForALease(func(l *scripted, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: "local now = tonumber(redis.call(\"TIME\")[1])\n" + takeStamped}, []string{lockKey}, l.value, 2)
		return n == int64(1), err
	})},
}

// timedScripted is a scripted lock that is valid for a lease from when its try began.
type timedScripted struct {
	scripted
	until time.Duration
}

func (l *timedScripted) TryAcquire(ctx context.Context) (bool, error) {
	l.until = l.env.Monotonic() + l.lease
	return l.scripted.TryAcquire(ctx)
}

func (l *timedScripted) Valid() time.Duration { return l.until - l.env.Monotonic() }

func validForALease(try step) func(plain) impls.Lock {
	made := script(try, nil)
	return func(p plain) impls.Lock { return &timedScripted{scripted: *made(p).(*scripted)} }
}

// onServer takes the lock by a script whose lease begins so many seconds after the server's present one.
func onServer(second string) func(plain) impls.Lock {
	source := `if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end
redis.call("SET", KEYS[1], ARGV[1])
redis.call("PEXPIREAT", KEYS[1], (redis.call("TIME")[1] + ` + second + `) * 1000 + ARGV[2])
return 1`
	return validForALease(func(l *scripted, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{lockKey}, l.value, l.lease.Milliseconds())
		return n == int64(1), err
	})
}

func TestRoundedTimesAreFollowed(t *testing.T) {
	t.Parallel()
	for _, s := range rounded {
		t.Run(s.name, func(t *testing.T) {
			if s.name != "keeps the second" {
				needs.Long(t, "a long search")
			}
			t.Parallel()
			result := s.explore(t)
			assert.NotNil(t, result.Found, result.Doubt)
		})
	}
}

// A lease that begins with the next second is never too short.
func TestSoundRoundedTimesAreTrusted(t *testing.T) {
	t.Parallel()
	needs.Long(t, "a long search")
	sound := strange{only: holders, faults: pauses(1), made: onServer("1")}
	result := sound.explore(t)
	assert.Nil(t, result.Found)
	assert.True(t, result.Complete(), result.Doubt)
}

// stampedIn takes over when its stamp, in units of so many milliseconds, is a lease old.
type stampedIn struct {
	plain
	unit int64
}

func (l *stampedIn) TryAcquire(ctx context.Context) (bool, error) {
	now := l.env.Now().UnixMilli() / l.unit
	l.value = strconv.FormatInt(now, 10) + " " + l.env.Token()
	n, err := l.env.Server().Do(ctx, "SETNX", lockKey, l.value)
	if n == int64(1) || err != nil {
		return err == nil, err
	}
	seen, err := l.env.Server().Do(ctx, "GET", lockKey)
	theirs, _ := seen.(string)
	stamp, _, _ := strings.Cut(theirs, " ")
	at, wrong := strconv.ParseInt(stamp, 10, 64)
	if err != nil || wrong != nil || now-at < l.lease.Milliseconds()/l.unit {
		return false, err
	}
	return l.take(ctx, l.value)
}

// Nothing is shown of a lock that rounds the time to less than the search follows, unless no judge could tell.
func TestFinelyRoundedTimesAreNoticed(t *testing.T) {
	needs.Long(t, "three searches")
	t.Parallel()
	for unit, noticed := range map[int64]bool{1: false, 10: false, 100: true} {
		s := strange{only: renewals, faults: pauses(1), made: func(p plain) impls.Lock { return &stampedIn{p, unit} }}
		result := s.explore(t)
		assert.Nil(t, result.Found)
		assert.Equal(t, noticed, strings.Contains(result.Doubt, "rounds the time"), "%d ms: %s", unit, result.Doubt)
	}
}

// A time that is written for people to read is compared by nobody: it makes no search larger.
func TestRoundedTimesThatNobodyComparesAreNotFollowed(t *testing.T) {
	t.Parallel()
	written := strange{only: []checker.Name{checker.DoubleHolder}, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		return l.try(ctx, strconv.FormatInt(l.env.Now().Unix(), 10)+" "+l.env.Token())
	}, nil)}
	result := written.explore(t)
	assert.Nil(t, result.Found)
	assert.True(t, result.Complete(), result.Doubt)
	assert.Less(t, result.States, 600) // followed, they make several thousand
}
