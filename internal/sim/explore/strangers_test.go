package explore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// Strangers are locks that nobody here has seen before: small, plausible, and each with one thing that a search may overlook. They have
// no functions among their fields, so that each is overlooked for its own reason.

// plain is a lock with a token, and with SET NX PX and compare and delete.
type plain struct {
	env   impls.Env
	lease time.Duration
	value string // of the last grant
	declared
}

// declared declares all that a stranger has in its fields.
type declared struct{ self impls.Lock }

func (d *declared) State() any { return fieldsOf(reflect.ValueOf(d.self)) }

func (d *declared) within(lock impls.Lock) { d.self = lock }

// declaring has a stranger declare its State.
func declaring(lock impls.Lock) impls.Lock {
	if d, declares := lock.(interface{ within(impls.Lock) }); declares {
		d.within(lock)
	}
	return lock
}

// fieldsOf writes what is in the fields of a value, but for an Env and the like.
func fieldsOf(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		return fieldsOf(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		text := "{"
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "env" && name != "declared" {
				text += fieldsOf(v.Field(i)) + " "
			}
		}
		return text + "}"
	case reflect.Func:
		return strconv.FormatBool(v.IsNil())
	case reflect.Interface:
		if !v.IsNil() {
			return fieldsOf(v.Elem())
		}
	}
	return fmt.Sprint(v)
}

func (l *plain) set(ctx context.Context, at impls.Server, key, mine string, more ...any) (bool, error) {
	reply, err := at.Do(ctx, append([]any{"SET", key, mine, "PX", l.lease.Milliseconds()}, more...)...)
	if reply == "OK" {
		l.value = mine
	}
	return reply == "OK", err
}

func (l *plain) try(ctx context.Context, mine string) (bool, error) {
	return l.set(ctx, l.env.Server(), learn.LockKey, mine, "NX")
}

// take takes the lock whoever has it.
func (l *plain) take(ctx context.Context, mine string) (bool, error) {
	return l.set(ctx, l.env.Server(), learn.LockKey, mine)
}

func (l *plain) TryAcquire(ctx context.Context) (bool, error) { return l.try(ctx, l.env.Token()) }

func (l *plain) Release(ctx context.Context) (bool, error) {
	return l.free(ctx, l.env.Server(), learn.LockKey)
}

func (l *plain) free(ctx context.Context, at impls.Server, key string) (bool, error) {
	n, err := at.Eval(ctx, &impls.Script{Source: compareAndDelete}, []string{key}, l.value)
	return n == int64(1), err
}

// prolonger renews the lock that it finds, whoever's that is. So with a client that crashes nobody gets it, unless all wait for a lease.
type prolonger struct{ plain }

func (l *prolonger) TryAcquire(ctx context.Context) (bool, error) {
	taken, err := l.plain.TryAcquire(ctx)
	if !taken && err == nil {
		_, err = l.env.Server().Do(ctx, "PEXPIRE", learn.LockKey, l.lease.Milliseconds())
	}
	return taken, err
}

// twicer takes the lock, and then once more, which is refused. Nobody is told that they have it, but nobody is kept waiting either.
type twicer struct{ plain }

func (l *twicer) TryAcquire(ctx context.Context) (bool, error) {
	if taken, err := l.plain.TryAcquire(ctx); !taken || err != nil {
		return false, err
	}
	return l.plain.TryAcquire(ctx)
}

// shared writes the same value whoever takes it, and takes it whoever has it. So nothing shows who took it last but who was told last.
type shared struct{ plain }

func (l *shared) TryAcquire(ctx context.Context) (bool, error) {
	if taken, err := l.try(ctx, "x"); taken || err != nil {
		return taken, err
	}
	return l.take(ctx, "x")
}

// forcer takes the lock whoever has it. If it crashes before it is told, the lock is still not its former owner's.
type forcer struct{ plain }

func (l *forcer) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	if taken, err := l.try(ctx, mine); taken || err != nil {
		return taken, err
	}
	return l.take(ctx, mine)
}

// setter sets the key in any case, whether it was there or not. A release removes what its client has set, and nothing else.
type setter struct{ plain }

func (l *setter) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	if _, err := l.try(ctx, mine); err != nil {
		return false, err
	}
	return l.take(ctx, mine)
}

// keeper does both: what it takes and is then refused, the tries after it keep.
type keeper struct{ prolonger }

func (l *keeper) TryAcquire(ctx context.Context) (bool, error) {
	if taken, err := l.prolonger.TryAcquire(ctx); !taken || err != nil {
		return false, err
	}
	return l.prolonger.TryAcquire(ctx)
}

// lender tells everybody that they have the lock, and nobody releases it. Whoever has not taken it has it for no time, and so does not work.
type lender struct {
	plain
	valid time.Duration
}

func (l *lender) TryAcquire(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "SETNX", learn.LockKey, l.env.Token())
	if l.valid = 0; reply == int64(1) {
		l.valid = l.lease
	}
	return err == nil, err
}

func (l *lender) Valid() time.Duration { return l.valid }

func (l *lender) Release(context.Context) (bool, error) { return true, nil }

// forgetter forgets its lock instead of releasing it, and says that it has released it.
type forgetter struct{ plain }

func (l *forgetter) Release(context.Context) (bool, error) { return true, nil }

// settler takes the lock and gives what it finds a lease. Once it has been refused it takes it twice, so it is refused by itself. Tries at the same
// time change nothing more, and yet they keep the lock.
type settler struct {
	plain
	refused bool
}

func (l *settler) TryAcquire(ctx context.Context) (bool, error) {
	taken, err := l.plain.TryAcquire(ctx)
	if err != nil {
		return false, err
	}
	if _, err := l.env.Server().Do(ctx, "PEXPIRE", learn.LockKey, l.lease.Milliseconds()); err != nil {
		return false, err
	}
	if l.refused {
		taken, err = l.plain.TryAcquire(ctx)
	}
	l.refused = l.refused || !taken
	return taken, err
}

// resting prolongs the lock that it finds, unless its last try is three quarters of a lease ago: then it deletes it. It looks at the clock only
// after the first reply.
type resting struct {
	plain
	last time.Time
}

func (l *resting) TryAcquire(ctx context.Context) (bool, error) {
	taken, err := l.plain.TryAcquire(ctx)
	rested := !l.last.IsZero() && l.env.Now().Sub(l.last) >= l.lease*3/4
	l.last = l.env.Now()
	switch {
	case taken || err != nil:
		return taken, err
	case rested:
		_, err = l.env.Server().Do(ctx, "DEL", learn.LockKey)
	default:
		_, err = l.env.Server().Do(ctx, "PEXPIRE", learn.LockKey, l.lease.Milliseconds())
	}
	return false, err
}

// quitter deletes the lock when it has been refused three times.
type quitter struct {
	plain
	refusals int
}

func (l *quitter) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.try(ctx, l.env.Token())
	if held || err != nil {
		return held, err
	}
	if l.refusals++; l.refusals >= 3 {
		_, err = l.env.Server().Do(ctx, "DEL", learn.LockKey)
	}
	return false, err
}

// voter takes a majority of its servers. Refused, it cleans up: it deletes whatever it finds, or, if it grabs, it has taken it by force.
type voter struct {
	plain
	grabs bool
}

func (l *voter) TryAcquire(ctx context.Context) (bool, error) {
	more, votes := []any{"NX"}, 0
	if l.grabs {
		more = nil
	}
	mine := l.env.Token()
	for _, s := range l.env.Servers() {
		if got, err := l.set(ctx, s, learn.LockKey, mine, more...); err == nil && got {
			votes++
		}
	}
	if 2*votes > len(l.env.Servers()) {
		return true, nil
	}
	for _, s := range l.env.Servers() {
		if _, err := s.Do(ctx, "DEL", learn.LockKey); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (l *voter) Release(ctx context.Context) (bool, error) {
	freed := 0
	for _, s := range l.env.Servers() {
		if ok, err := l.free(ctx, s, learn.LockKey); err == nil && ok {
			freed++
		}
	}
	return 2*freed > len(l.env.Servers()), nil
}

// hasty takes the lock by force if its try took between two times: the lease must be over, it thinks.
type hasty struct {
	plain
	from, to time.Duration
}

func (l *hasty) TryAcquire(ctx context.Context) (bool, error) {
	mine, begun := l.env.Token(), l.env.Now()
	held, err := l.try(ctx, mine)
	if held || err != nil {
		return held, err
	}
	if took := l.env.Now().Sub(begun); took < l.from || took > l.to {
		return false, nil
	}
	return l.take(ctx, mine)
}

// endless is hasty without a lease.
type endless struct{ hasty }

func (l *endless) TryAcquire(ctx context.Context) (bool, error) {
	mine, begun := l.env.Token(), l.env.Now()
	reply, err := l.env.Server().Do(ctx, "SETNX", learn.LockKey, mine)
	if reply == int64(1) {
		l.value = mine
		return true, nil
	}
	if took := l.env.Now().Sub(begun); err != nil || took < l.from || took > l.to {
		return false, err
	}
	return l.take(ctx, mine)
}

// fencing issues fencing tokens: what a sequence on the server says, or what a list has at its place.
type fencing struct {
	plain
	list       [4]int64
	base, step int64
	issued     int64
}

func (l *fencing) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.try(ctx, l.env.Token())
	if !held || err != nil {
		return false, err
	}
	n, err := l.env.Server().Do(ctx, "INCR", "fences")
	if err != nil {
		return false, err
	}
	l.issued = l.base + l.step*n.(int64) + l.list[min(n.(int64), 4)-1]
	return true, nil
}

func (l *fencing) Fence() int64 { return l.issued }

// forgotten issues fencing tokens of a counter that the server forgets after two leases.
type forgotten struct{ fencing }

func (l *forgotten) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.fencing.TryAcquire(ctx)
	if held {
		_, err = l.env.Server().Do(ctx, "PEXPIRE", "fences", 2*l.lease.Milliseconds())
	}
	return held, err
}

// hashing stores a hash of its token.
type hashing struct{ plain }

func (l *hashing) TryAcquire(ctx context.Context) (bool, error) {
	sum := sha256.Sum256([]byte(l.env.Token()))
	return l.try(ctx, hex.EncodeToString(sum[:4]))
}

// ticketer takes the lock, and then has it if its ticket is an odd one. So a client that was refused may be told what another should be.
type ticketer struct{ plain }

func (l *ticketer) TryAcquire(ctx context.Context) (bool, error) {
	if _, err := l.try(ctx, l.env.Token()); err != nil {
		return false, err
	}
	n, err := l.env.Server().Do(ctx, "INCR", "tickets")
	if err != nil {
		return false, err
	}
	return n.(int64)%2 == 1, nil
}

// bully takes the lock from a client with a smaller token.
type bully struct{ plain }

func (l *bully) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	held, err := l.try(ctx, mine)
	if held || err != nil {
		return held, err
	}
	seen, err := l.env.Server().Do(ctx, "GET", learn.LockKey)
	if theirs, ok := seen.(string); err != nil || !ok || theirs > mine {
		return false, err
	}
	return l.take(ctx, mine)
}

var (
	holders    = []checker.Name{checker.DoubleHolder}
	overwrites = []checker.Name{checker.Overwrite}
	renewals   = []checker.Name{checker.WrongfulRenew}
	ghosts     = []checker.Name{checker.GhostLock}
	strays     = []checker.Name{checker.WrongfulDelete, checker.Overwrite, checker.WrongfulRenew}
)

// strange is a stranger, and how it is searched.
type strange struct {
	name            string
	made            func(p plain) impls.Lock
	clients, rounds int  // 0: 2, 1
	servers         int  // 0: one
	most            bool // it needs most of them
	faults          []faults.Kind
	only            []checker.Name
	holds           bool
	// ordered: it compares tokens by order, or makes something of them.
	ordered bool
}

var strangers = []strange{
	{name: "deletes after three refusals", made: func(p plain) impls.Lock { return &quitter{plain: p} }},
	{name: "prolongs whatever it finds", only: []checker.Name{checker.StuckLock}, faults: []faults.Kind{faults.Crash}, made: func(p plain) impls.Lock { return &prolonger{p} }},
	{name: "takes it twice", only: []checker.Name{checker.StuckLock}, holds: true, made: func(p plain) impls.Lock { return &twicer{p} }},
	{name: "takes what has its value", only: []checker.Name{checker.StaleWrite}, made: func(p plain) impls.Lock { return &shared{p} }},
	{name: "takes what has its value, after a while", only: renewals, faults: []faults.Kind{faults.Crash}, made: func(p plain) impls.Lock { return &shared{p} }},
	{name: "takes it twice, and prolongs it", only: []checker.Name{checker.StuckLock}, made: func(p plain) impls.Lock { return &keeper{prolonger{p}} }},
	{name: "a write comes twice, and another had the lock in between", rounds: 2, only: []checker.Name{checker.StaleWrite}, faults: []faults.Kind{faults.Duplicate}, made: func(p plain) impls.Lock { return &lender{plain: p} }},
	{name: "a write comes twice, and nobody had the lock in between", clients: 1, rounds: 2, only: []checker.Name{checker.StaleWrite}, faults: []faults.Kind{faults.Duplicate}, holds: true, made: func(p plain) impls.Lock { return &lender{plain: p} }},
	{name: "releases nothing", only: []checker.Name{checker.Unreleasable}, made: func(p plain) impls.Lock { return &forgetter{p} }},
	{name: "gives what it finds a lease", only: []checker.Name{checker.StuckLock}, made: func(p plain) impls.Lock { return &settler{plain: p} }},
	{name: "prolongs it, or deletes it after a rest", only: renewals, faults: []faults.Kind{faults.Crash}, made: func(p plain) impls.Lock { return &resting{plain: p} }},
	{name: "takes it by force, and crashes", only: []checker.Name{checker.Unreleasable}, faults: []faults.Kind{faults.Crash}, holds: true, made: func(p plain) impls.Lock { return &forcer{p} }},
	{name: "takes back what another has taken by force", only: []checker.Name{checker.WrongfulDelete}, holds: true, made: func(p plain) impls.Lock { return &setter{p} }},
	{name: "deletes on most servers", servers: 3, most: true, only: []checker.Name{checker.WrongfulDelete}, made: func(p plain) impls.Lock { return &voter{plain: p} }},
	{name: "takes most servers by force", servers: 3, most: true, only: []checker.Name{checker.EarlyGrant}, made: func(p plain) impls.Lock { return &voter{plain: p, grabs: true} }},
	{name: "overwrites on most servers", servers: 3, most: true, only: overwrites, made: func(p plain) impls.Lock { return &voter{plain: p, grabs: true} }},
	{name: "overwrites nothing on most servers", servers: 3, most: true, only: overwrites, holds: true, made: func(p plain) impls.Lock { return &voter{plain: p} }},
	{name: "took long, so the lease must be over", only: overwrites, faults: []faults.Kind{faults.Pause}, made: func(p plain) impls.Lock {
		return &hasty{p, p.lease + 100*time.Millisecond, time.Hour}
	}},
	{name: "takes over in the middle of the lease", only: overwrites, faults: []faults.Kind{faults.Pause, faults.Pause}, made: func(p plain) impls.Lock {
		return &hasty{p, p.lease / 4, p.lease * 3 / 4}
	}},
	{name: "takes over after a third of the lease, for 50 ms", only: overwrites, faults: []faults.Kind{faults.Pause, faults.Pause}, made: func(p plain) impls.Lock {
		return &hasty{p, p.lease / 3, p.lease/3 + 50*time.Millisecond}
	}},
	{name: "takes over after an hour, where nothing ends", only: holders, faults: []faults.Kind{faults.Pause, faults.Pause}, made: func(p plain) impls.Lock {
		return &endless{hasty{p, time.Hour, 2 * time.Hour}}
	}},
	{name: "a fence of 257, then one of 200", rounds: 2, made: func(p plain) impls.Lock { return &fencing{plain: p, list: [4]int64{257, 200, 300, 400}} }},
	{name: "fences by hundreds", rounds: 2, holds: true, made: func(p plain) impls.Lock { return &fencing{plain: p, step: 100} }},
	{name: "fences of a clock's size", rounds: 2, holds: true, made: func(p plain) impls.Lock { return &fencing{plain: p, base: 1_700_000_000_000, step: 1} }},
	{name: "fences are forgotten while nobody has the lock", only: []checker.Name{checker.FenceRegression}, made: func(p plain) impls.Lock { return &forgotten{fencing{plain: p, step: 1}} }},
	{name: "stores a hash of its token", ordered: true, clients: 3, rounds: 2, holds: true, made: func(p plain) impls.Lock { return &hashing{p} }},
	{name: "stores a hash of its token, and requests come late", ordered: true, rounds: 2, holds: true, only: strays, faults: []faults.Kind{faults.LateRequest}, made: func(p plain) impls.Lock { return &hashing{p} }},
	{name: "stores a hash of its token, and requests come twice", ordered: true, rounds: 2, holds: true, only: holders, faults: []faults.Kind{faults.Duplicate}, made: func(p plain) impls.Lock { return &hashing{p} }},
	{name: "two acquires are told each other's answers", only: ghosts, made: func(p plain) impls.Lock { return &ticketer{p} }},
	{name: "the greater token wins", ordered: true, rounds: 2, made: func(p plain) impls.Lock { return &bully{p} }},
	{name: "the greater token wins, with three clients", ordered: true, clients: 3, rounds: 2, made: func(p plain) impls.Lock { return &bully{p} }},
}

func stranger(made func(plain) impls.Lock) impls.Spec {
	return impls.Spec{
		Card: impls.Card{Name: "stranger", Needs: impls.OneServer, Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner}, EqualTokens: true},
		New: func(env impls.Env, opts impls.Options) impls.Lock {
			return declaring(made(plain{env: env, lease: opts.Lease}))
		},
	}
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

func TestStrangersAreNotTrusted(t *testing.T) {
	t.Parallel()
	all := slices.Concat(strangers, scriptedStrangers)
	all = all[:needs.Count(t, "locks", 8, len(all))]
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			spec := stranger(s.made)
			spec.EqualTokens = !s.ordered
			if s.servers > 0 {
				spec.Servers, spec.Needs = s.servers, impls.EveryServer
				if s.most {
					spec.Needs = impls.MostServers
				}
			}
			config := Config{Lock: spec, Clients: cmp.Or(s.clients, 2), Rounds: s.rounds, Only: s.only, States: 3_000_000, Budget: spend(s.faults...)}
			result, err := Explore(context.Background(), config.Usual())
			require.NoError(t, err)
			require.Empty(t, len(result.Disputed), "disputed")
			if s.holds {
				require.True(t, result.Found == nil, "accused")
				return
			}
			require.True(t, result.Found != nil, "%s; %d states", result.Limit, result.States)
		})
	}
}
