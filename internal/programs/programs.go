// Package programs makes small locks by chance: a few guarded commands for an acquire, a few for a release. Most are broken, in ways that
// nobody thought of; some hold.
//
// It owns the languages of these programs, a plain one and a rich one, and their generators. It must not know who judges them.
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
	plainGuards
	others  guard = iota - 1 // the value that was read last is another client's
	counted                  // the number that was answered last is n
	soon                     // the lock ends, as read last, in less than so many quarters of a lease: n
	guards
)

// step is a command with its guard.
type step struct {
	guard  guard
	n      int // of the guard
	action int // its place in the list
	m      int // of the action
}

// program is the code of a lock.
type program struct {
	acquire, release []step
	shared           bool // all clients write the same value
}

// most is the largest number of refusals that a guard asks for, and of what a count is compared with.
const most = 3

// guardWords are those of guards.
var guardWords = [guards]string{
	"", "if taken: ", "if not taken: ", "if mine: ", "if gone: ", "if refused %d times: ", "if %d quarters of a lease later: ",
	"if another's: ", "if the number is %d: ", "if it ends within %d quarters of a lease: ",
}

func (p *program) String() string {
	word := func(format string, n int) string {
		if strings.Contains(format, "%d") {
			return fmt.Sprintf(format, n)
		}
		return format
	}
	text := func(steps []step) string {
		var words []string
		for _, s := range steps {
			words = append(words, word(guardWords[s.guard], s.n)+word(actions[s.action].word, s.m))
		}
		return strings.Join(words, "; ")
	}
	value := "a token"
	if p.shared {
		value = "a constant"
	}
	return fmt.Sprintf("value: %s; acquire: %s; release: %s", value, text(p.acquire), text(p.release))
}

// Make makes the lock with that number, and says in words what it does. It is plain: it knows one key and its lease.
func Make(seed uint64) (impls.Spec, string) {
	dice := rand.New(rand.NewPCG(seed, 3))
	pick := func(from ...int) int { return from[dice.IntN(len(from))] }
	p := &program{shared: dice.IntN(6) == 0}
	p.acquire = []step{{action: pick(setNX, setNXPX, setNXPX, setNXPX)}}
	for range dice.IntN(3) {
		p.acquire = append(p.acquire, step{guard: guard(1 + dice.IntN(int(plainGuards)-1)), n: 1 + dice.IntN(most), action: dice.IntN(plainActions)})
	}
	if dice.IntN(8) == 0 {
		p.acquire = append([]step{{guard: guard(dice.IntN(int(plainGuards))), n: 1 + dice.IntN(most), action: pick(get, del, get)}}, p.acquire...)
	}
	for range dice.IntN(3) {
		p.release = append(p.release, step{guard: guard(dice.IntN(int(plainGuards))), n: 1 + dice.IntN(5), action: dice.IntN(plainActions)})
	}
	if dice.IntN(3) > 0 {
		p.release = append(p.release, step{guard: pickGuard(dice), action: pick(del, compareAndDelete, compareAndDelete)})
	}
	return p.spec("random", seed), p.String()
}

// MakeRich is Make for locks that use more: other keys and other types, sleeps and background tasks.
func MakeRich(seed uint64) (impls.Spec, string) {
	dice := rand.New(rand.NewPCG(seed, 33))
	any := func() step {
		return step{guard: guard(dice.IntN(int(guards))), n: 1 + dice.IntN(most), action: dice.IntN(len(actions)), m: 1 + dice.IntN(4)}
	}
	p := &program{}
	for range dice.IntN(3) {
		p.acquire = append(p.acquire, any())
	}
	takes := []int{setNX, setNXPX, setNXPX, setNXPX, watchAndSet, getSet, increment, hashSet, setAdd, listPop}
	p.acquire = append(p.acquire, step{action: takes[dice.IntN(len(takes))]})
	for _, steps := range []*[]step{&p.acquire, &p.release} {
		for range dice.IntN(3) {
			*steps = append(*steps, any())
		}
	}
	if gives := []int{del, compareAndDelete, compareAndDelete, getDel, decrement}; dice.IntN(4) > 0 {
		p.release = append(p.release, step{guard: pickGuard(dice), action: gives[dice.IntN(len(gives))]})
	}
	return p.spec("rich", seed), p.String()
}

func (p *program) spec(name string, seed uint64) impls.Spec {
	return impls.Spec{
		Card: impls.Card{
			Name: fmt.Sprintf("%s-%d", name, seed), Needs: impls.OneServer, EqualTokens: true, Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner},
		},
		New: func(env impls.Env, opts impls.Options) impls.Lock { return &lock{env: env, opts: opts, program: p} },
	}
}

func pickGuard(dice *rand.Rand) guard {
	if dice.IntN(2) == 0 {
		return always
	}
	return mine
}

// lock runs a program. What makes no difference is not remembered.
type lock struct {
	env      impls.Env
	opts     impls.Options
	program  *program
	token    string
	seen     string // the value that was read last
	took     bool   // the latest command that could take the lock did so
	removed  bool   // some command of the release has given it back
	number   int64  // that was answered last, or most and one
	quarters int64  // of a lease in which the lock ends, as read last
	refusals int    // in a row
	last     time.Time
	stop     func() // ends the background task; nil: there has been none
}

func (l *lock) State() any {
	return struct {
		token, seen             string
		took, removed, stops    bool
		number, quarters, tries int64
		last                    time.Time
	}{l.token, l.seen, l.took, l.removed, l.stop != nil, l.number, l.quarters, int64(l.refusals), l.last}
}

func (l *lock) TryAcquire(ctx context.Context) (bool, error) {
	l.took, l.token = false, "all"
	if !l.program.shared {
		l.token = l.env.Token()
	}
	if err := l.run(ctx, l.program.acquire); err != nil {
		return false, err
	}
	switch {
	case l.took:
		l.refusals = 0
	case l.asks(refused):
		l.refusals = min(l.refusals+1, most)
	}
	if l.asks(late) {
		l.last = l.env.Now()
	}
	return l.took, nil
}

func (l *lock) Release(ctx context.Context) (bool, error) {
	l.removed = false
	err := l.run(ctx, l.program.release)
	removed := l.removed
	l.removed = false
	return removed, err
}

// asks says whether some step has that guard.
func (l *lock) asks(g guard) bool {
	has := func(s step) bool { return s.guard == g }
	return slices.ContainsFunc(l.program.acquire, has) || slices.ContainsFunc(l.program.release, has)
}

// run sends the commands whose guards say so.
func (l *lock) run(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if !l.holds(s) {
			continue
		}
		if err := actions[s.action].do(l, ctx, s.m); err != nil {
			return err
		}
	}
	return nil
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
	case others:
		return l.seen != "" && l.seen != l.token
	case refused:
		return l.refusals >= s.n
	case late:
		return !l.last.IsZero() && l.env.Now().Sub(l.last) >= time.Duration(s.n)*l.opts.Lease/4
	case counted:
		return l.number == int64(s.n)
	case soon:
		return l.quarters < int64(s.n)
	}
	return true
}
