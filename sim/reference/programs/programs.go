// Package programs makes small locks by chance: a few guarded commands for an acquire, a few for a release. Most are broken, in ways that
// nobody thought of; some hold.
//
// It owns the language of these programs and their generator. It must not know who judges them.
package programs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/impls"
)

// guard says when a command is sent.
type guard uint8

const (
	always   guard = iota
	taken          // the latest command that could take the lock did so
	notTaken       // it did not
	mine           // the value that was read last is the client's own
	gone           // there was none
	refused        // the client was refused so often in a row: n
	late           // its latest grant or refusal is so many quarters of a lease ago: n
	guards
)

// action is a command.
type action uint8

const (
	setNX action = iota
	setNXPX
	setPX
	get
	del
	compareAndDelete
	pExpire
	compareAndExpire
	actions
)

// step is a command with its guard.
type step struct {
	guard  guard
	n      int
	action action
}

// program is the code of a lock.
type program struct {
	acquire, release []step
	shared           bool // all clients write the same value
}

// most is the largest number of refusals that a guard asks for.
const most = 3

// words are those of guards and actions.
var (
	guardWords  = [guards]string{"", "if taken: ", "if not taken: ", "if mine: ", "if gone: ", "if refused %d times: ", "if %d quarters of a lease later: "}
	actionWords = [actions]string{"SETNX", "SET NX PX", "SET PX", "GET", "DEL", "compare and DEL", "PEXPIRE", "compare and PEXPIRE"}
)

func (p *program) String() string {
	text := func(steps []step) string {
		var words []string
		for _, s := range steps {
			word := guardWords[s.guard] + actionWords[s.action]
			if strings.Contains(word, "%d") {
				word = fmt.Sprintf(word, s.n)
			}
			words = append(words, word)
		}
		return strings.Join(words, "; ")
	}
	value := "a token"
	if p.shared {
		value = "a constant"
	}
	return fmt.Sprintf("value: %s; acquire: %s; release: %s", value, text(p.acquire), text(p.release))
}

// Make makes the lock with that number, and says in words what it does.
func Make(seed uint64) (impls.Spec, string) {
	dice := rand.New(rand.NewPCG(seed, 3))
	pick := func(from ...action) action { return from[dice.IntN(len(from))] }
	p := &program{shared: dice.IntN(6) == 0}
	p.acquire = []step{{always, 0, pick(setNX, setNXPX, setNXPX, setNXPX)}}
	for range dice.IntN(3) {
		p.acquire = append(p.acquire, step{guard(1 + dice.IntN(int(guards)-1)), 1 + dice.IntN(most), action(dice.IntN(int(actions)))})
	}
	if dice.IntN(8) == 0 {
		p.acquire = append([]step{{guard(dice.IntN(int(guards))), 1 + dice.IntN(most), pick(get, del, get)}}, p.acquire...)
	}
	for range dice.IntN(3) {
		p.release = append(p.release, step{guard(dice.IntN(int(guards))), 1 + dice.IntN(5), action(dice.IntN(int(actions)))})
	}
	if dice.IntN(3) > 0 {
		p.release = append(p.release, step{pickGuard(dice), 0, pick(del, compareAndDelete, compareAndDelete)})
	}
	return impls.Spec{
		Card: impls.Card{
			Name: fmt.Sprintf("random-%d", seed), Needs: impls.OneServer, Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner},
		},
		New: func(env impls.Env, opts impls.Options) impls.Lock { return &lock{env: env, opts: opts, program: p} },
	}, p.String()
}

func pickGuard(dice *rand.Rand) guard {
	if dice.IntN(2) == 0 {
		return always
	}
	return mine
}

// lock runs a program.
type lock struct {
	env      impls.Env
	opts     impls.Options
	program  *program
	token    string
	seen     string // the value that was read last
	took     bool   // the latest command that could take the lock did so
	refusals int    // in a row
	last     time.Time
}

func (l *lock) TryAcquire(ctx context.Context) (bool, error) {
	l.took, l.token = false, "all"
	if !l.program.shared {
		l.token = l.env.Token()
	}
	if _, err := l.run(ctx, l.program.acquire); err != nil {
		return false, err
	}
	switch {
	case l.took:
		l.refusals = 0
	case l.asks(refused):
		l.refusals = min(l.refusals+1, most) // what makes no difference is not remembered
	}
	if l.asks(late) {
		l.last = l.env.Now()
	}
	return l.took, nil
}

func (l *lock) Release(ctx context.Context) (bool, error) {
	removed, err := l.run(ctx, l.program.release)
	return removed, err
}

// asks says whether some step has that guard.
func (l *lock) asks(g guard) bool {
	has := func(s step) bool { return s.guard == g }
	return slices.ContainsFunc(l.program.acquire, has) || slices.ContainsFunc(l.program.release, has)
}

// run sends the commands whose guards say so, and says whether one of them removed the key.
func (l *lock) run(ctx context.Context, steps []step) (removed bool, _ error) {
	for _, s := range steps {
		if !l.holds(s) {
			continue
		}
		n, err := l.send(ctx, s.action)
		if err != nil {
			return removed, err
		}
		removed = removed || n && (s.action == del || s.action == compareAndDelete)
	}
	return removed, nil
}

func (l *lock) holds(s step) bool {
	switch s.guard {
	case taken:
		return l.took
	case notTaken:
		return !l.took
	case mine:
		return l.seen == l.token
	case gone:
		return l.seen == ""
	case refused:
		return l.refusals >= s.n
	case late:
		return !l.last.IsZero() && l.env.Now().Sub(l.last) >= time.Duration(s.n)*l.opts.Lease/4
	}
	return true
}

const (
	deleteIfSame = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`
	expireIfSame = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) else return 0 end`
)

// send sends a command, and says whether it did anything.
func (l *lock) send(ctx context.Context, a action) (bool, error) {
	key, lease, at := l.opts.Key, l.opts.Lease.Milliseconds(), l.env.Server()
	var reply any
	var err error
	switch a {
	case setNX:
		reply, err = at.Do(ctx, "SETNX", key, l.token)
		l.took = reply == int64(1)
	case setNXPX:
		reply, err = at.Do(ctx, "SET", key, l.token, "NX", "PX", lease)
		l.took = reply == "OK"
	case setPX:
		reply, err = at.Do(ctx, "SET", key, l.token, "PX", lease)
		l.took = reply == "OK"
	case get:
		reply, err = at.Do(ctx, "GET", key)
		l.seen, _ = reply.(string)
	case del:
		reply, err = at.Do(ctx, "DEL", key)
	case compareAndDelete:
		reply, err = at.Eval(ctx, &impls.Script{Source: deleteIfSame}, []string{key}, l.token)
	case pExpire:
		reply, err = at.Do(ctx, "PEXPIRE", key, lease)
	case compareAndExpire:
		reply, err = at.Eval(ctx, &impls.Script{Source: expireIfSame}, []string{key}, l.token, lease)
	}
	return reply == int64(1), err
}
