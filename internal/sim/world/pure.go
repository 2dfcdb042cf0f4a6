package world

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A lock is searched as a function of what its Env gives it. Here is what shows that it is none.

// errTwice is of a lock that has done something, and does something else after just the same.
var errTwice = errors.New("given the same twice, it did not do the same twice: it goes by chance, or by what is not its own, such as a variable of its package")

// watchedRuns are how many of the first runs of a lock's code are watched for goroutines of its own, which takes time.
const watchedRuns = 500

// impure is the error of a lock that cannot be searched.
func (l *locals) impure(err error) error {
	return fmt.Errorf("%s cannot be explored: %w", l.spec.Name, err)
}

// same checks that a process that has been taken to a moment once more is there.
func (l *locals) same(m *moment, live *life) error {
	again := *m
	if err := l.note(&again, live); err != nil {
		return err
	}
	if again.outcome() != m.outcome() {
		return l.impure(errTwice)
	}
	return nil
}

// Running is the number of the run of the lock's code that is under way; 0: none is. It may be asked by another goroutine.
func (s *Space) Running() int64 { return s.player.locals.running.Load() }

// pair has a moment stand for another one after which the lock declared the same, and takes that one on as a sample wherever it is taken on.
func (l *locals) pair(m, twin *moment) error {
	m.twin = twin
	for _, e := range m.next {
		for _, to := range e.to {
			if err := l.sample(to, twin); err != nil {
				return err
			}
		}
	}
	return nil
}

// sample takes a twin of the moment before on, by the same step. The same must come of it.
func (l *locals) sample(m, twin *moment) error {
	l.count++
	other := &moment{number: l.count, before: twin, client: m.client, given: m.given, shown: m.shown, main: twin.main}
	if err := l.execute(other, 0); err != nil {
		return err
	}
	if a, b := m.outcome(), other.outcome(); a != b {
		return fmt.Errorf("the State of %s is the same after two histories, and yet it goes on in two ways; let it return all that the lock keeps:\n%s\n%s",
			l.spec.Name, a, b)
	}
	if m.kept != "" {
		return nil
	}
	return l.pair(m, other)
}

// outcome is all that can be seen of a moment.
func (m *moment) outcome() string {
	text := fmt.Sprint(m.busy, m.tokens, m.notices, m.kept)
	for _, w := range m.waits {
		text += fmt.Sprintf(" %d %d %d %d %q %v %v %v %v", w.Task, w.Kind, w.Server, w.Conn, w.Commands, w.Length, w.Limit, w.Timer != 0, w.Begun)
	}
	return text
}

// errLives: the search begins again, because the lock has turned out to ask how long a key lives.
var errLives = errors.New("the lock asks how long keys live")

// lifeWords match a command, or a script, that asks for that. A script that is named by its hash may.
var lifeWords = regexp.MustCompile(`(?i)\bp?ttl\b|^evalsha`)

// asksLife says whether a command asks how long a key lives. Of one that has a script, the script says so.
func (p *player) asksLife(words []string) bool {
	text := words[0]
	if len(words) > 1 && strings.EqualFold(text, "EVAL") {
		text = words[1]
	}
	asks, known := p.lifeAsked[text]
	if !known {
		asks = lifeWords.MatchString(text)
		p.lifeAsked[text] = asks
	}
	return asks
}

// meet notes what ends the search: what a real server may know and the model does not, and what the search has to know of the lock.
func (p *player) meet(m message, unknown string) {
	switch {
	case unknown != "":
		p.met = fmt.Errorf("%s cannot be explored: the model of its server does not know %s", p.Lock.Name, unknown)
	case !p.lives && slices.ContainsFunc(m.commands, p.asksLife):
		p.met = errLives
	}
}
