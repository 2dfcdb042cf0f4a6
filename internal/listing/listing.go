// Package listing is the source of a lock for those who show it: its declarations, which line of them sent a command, and which line is a bug.
//
// It owns how a command finds its line: a line is named only if no other line of the lock could have sent the command in that operation. It must not know how
// sources are read; see internal/listing/golang.
package listing

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Sources are the sources of locks.
type Sources interface {
	// Of is the listing of a lock; nil: its source is not among these.
	Of(spec impls.Spec) *Listing
	// Text is a file.
	Text(file string) string
}

// Place is a line of a file.
type Place struct {
	File string
	Line int
}

// Part is a declaration with its comment.
type Part struct {
	File     string
	From, To int
}

// Bug is a line that the source calls the bug, or on which one of the card's bugs decides; What is that one's line on the card.
type Bug struct {
	Place
	What string
}

// Listing is the source of one lock.
type Listing struct {
	// Parts are in the order in which they are read: the lock's own file first.
	Parts []Part
	// Begins are where the operations begin.
	Begins map[history.Op]Place
	// Sites are the lines that send a command.
	Sites []Site
	Bugs  []Bug
}

// Site is the number, from 1, of the line that sent a command; 0: it was none of the lock's, or not one line only comes into question.
func (l *Listing) Site(e *history.Event, c *history.Command) int {
	if c.Server == history.Resource { // the client's work
		return 0
	}
	found := 0
	for i := range l.Sites {
		if s := &l.Sites[i]; s.during(e.Op) && s.sends(c.Args) {
			if found > 0 && l.Sites[found-1].Place != s.Place {
				return 0
			}
			found = i + 1
		}
	}
	return found
}

// Site is a call that sends a command.
type Site struct {
	Place
	Ops  map[history.Op]bool // during which it may be
	Args []Pattern
	Open bool // more arguments may follow
}

// Pattern is what an argument may be: one of some texts, in each of which anything stands between the pieces; nil: anything.
type Pattern [][]string

// during says whether the line may run in an operation; none: that is uncertain, or it is a background task's.
func (s *Site) during(op history.Op) bool { return op == history.OpNone || s.Ops[op] }

func (s *Site) sends(args []string) bool {
	if len(args) < len(s.Args) || len(args) > len(s.Args) && !s.Open {
		return false
	}
	for i, p := range s.Args {
		if i == 1 && s.Args[0].Fits("EVAL") {
			if !p.isScript(args[1]) {
				return false
			}
		} else if !p.Fits(args[i]) {
			return false
		}
	}
	return true
}

// Fits says whether a text is one of these.
func (p Pattern) Fits(text string) bool {
	return p == nil || slices.ContainsFunc(p, func(pieces []string) bool { return matches(pieces, text) })
}

// matches says whether a text consists of pieces with anything in between.
func matches(pieces []string, text string) bool {
	rest, found := strings.CutPrefix(text, pieces[0])
	for i, piece := range pieces[1:] {
		if !found {
			return false
		}
		if i == len(pieces)-2 {
			return strings.HasSuffix(rest, piece)
		}
		_, rest, found = strings.Cut(rest, piece)
	}
	return found && rest == ""
}

// Digests are what may stand for scripts in EVALSHA.
func (p Pattern) Digests() (digests Pattern) {
	for _, pieces := range p {
		if len(pieces) > 1 {
			return nil
		}
		sum := sha1.Sum([]byte(pieces[0]))
		digests = append(digests, []string{hex.EncodeToString(sum[:])})
	}
	return digests
}

// isScript says whether an argument is one of some scripts. A history has the beginning of a long one, quoted.
func (p Pattern) isScript(arg string) bool {
	if p == nil {
		return true
	}
	begin, clipped := strings.CutSuffix(arg, "…")
	if text, err := strconv.Unquote(begin); err == nil {
		begin = text
	}
	return slices.ContainsFunc(p, func(pieces []string) bool {
		return len(pieces) > 1 || pieces[0] == begin || clipped && strings.HasPrefix(pieces[0], begin)
	})
}
