package world

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/sim/past"
)

// lifeWords match a command, or a script, that asks for that. A script that is named by its hash may.
var lifeWords = regexp.MustCompile(`(?i)\bp?ttl\b|^evalsha`)

// Running is the number of the run of the lock's code that is under way; 0: none is. It may be asked by another goroutine.
func (s *Space) Running() int64 { return s.player.past.Running() }

// asksLife says whether a command asks how long a key lives. Of one that has a script, the script says so.
func (v *served) asksLife(words []string) bool {
	text := words[0]
	if len(words) > 1 && strings.EqualFold(text, "EVAL") {
		text = words[1]
	}
	asks, known := v.lifeAsked[text]
	if !known {
		asks = lifeWords.MatchString(text)
		v.lifeAsked[text] = asks
	}
	return asks
}

// meet notes what ends the search: what a real server may know and the model does not, and what the search has to know of the lock.
func (p *player) meet(m message, unknown string) {
	switch {
	case unknown != "":
		p.service.met = fmt.Errorf("%s cannot be explored: the model of its server does not know %s", p.Lock.Name, unknown)
	case !p.past.Lives && slices.ContainsFunc(m.commands, p.service.asksLife):
		p.service.met = past.ErrLives
	}
}
