package checker

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// storyLock is the key of the lock in a story that names no other, and storyCounter that of its protected counter.
const (
	storyLock    = "k"
	storyCounter = "counter"
)

// readStory reads a history that is written to be read by people. Each line is a time and one of
//
//	C1 opens, lease 500ms [session] | leaseless [servers 5] [need 5] [reentrant] [fair] [of another-lock]
//	C1 calls acquire #1 [bound 1s] [of another-lock]
//	C1 sends #1 SET k a NX PX 500 : - -> a@500ms [; asked 1ms late again dropped sent 5ms on redis2 by 7]
//	C1 writes #2 SET counter 1 : 0 -> 1
//	C1 returns #1 ok [valid 480ms] [fence 3] [gave-up] [read 0 wrote 1]
//	C1 valid 480ms | C1 lost [#1] | C1 exits
//	fault pause C1 inject|effective|recover [details]
//	final 3
//
// Where the work is no counter, opens and final say so, with the data: "work stock has stock=1". A command to the resource may say
// what it was answered: "; reply 1". In data, arguments and replies _ stands for a blank and | lies between values.
//
// A lock is of the key k, unless its client opens it, or calls an operation, "of" another.
//
// Blank lines and what follows a # at the start of a line are left out. The number of an operation may be left out of sends.
func readStory(path string) ([]history.Event, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := story{calls: make(map[int64]history.Op), locks: make(map[string]string), lockOf: make(map[int64]string)}
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.line(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
	}
	return s.events, nil
}

type story struct {
	events []history.Event
	calls  map[int64]history.Op
	locks  map[string]string // by client, where not storyLock
	lockOf map[int64]string  // by operation
}

// lock is whose key an event is about: that of the operation, or else the client's.
func (s *story) lock(client string, id int64) string {
	return cmp.Or(s.lockOf[id], s.locks[client], storyLock)
}

// words are what is left of a line.
type words []string

func (w *words) next() string {
	if len(*w) == 0 {
		return ""
	}
	word := (*w)[0]
	*w = (*w)[1:]
	return word
}

// of takes "of another-lock" out of the words.
func (w *words) of() string {
	i := slices.Index(*w, "of")
	if i < 0 || i+1 == len(*w) {
		return ""
	}
	lock := (*w)[i+1]
	*w = slices.Delete(*w, i, i+2)
	return lock
}

func (s *story) line(line string) error {
	line, effect, _ := strings.Cut(line, " : ")
	w := words(strings.Fields(strings.ReplaceAll(line, ",", "")))
	at, err := time.ParseDuration(w.next())
	if err != nil {
		return err
	}
	e := history.Event{At: at, Lock: storyLock}
	switch first := w.next(); first {
	case "final":
		e.Kind = history.KindFinal
		e.Detail = &history.Detail{}
		e.Detail.Value, err = strconv.ParseInt(w.next(), 10, 64)
		if err == nil {
			err = options(&e, &w)
		}
	case "fault":
		e.Kind, e.Lock = history.KindFault, ""
		f := &history.Fault{Name: w.next(), Target: w.next(), Phase: history.Phase(w.next())}
		f.What, w = strings.Join(w, " "), nil
		e.Detail = &history.Detail{Fault: f}
	default:
		e.Client = first
		e.Lock = s.lock(first, 0)
		err = s.client(&e, &w, effect)
	}
	if err == nil && len(w) > 0 {
		err = fmt.Errorf("left over: %v", w)
	}
	s.events = append(s.events, e)
	return err
}

func (s *story) client(e *history.Event, w *words, effect string) error {
	switch verb := w.next(); verb {
	case "opens":
		e.Kind = history.KindOpen
		e.Detail = new(history.Detail)
		if of := w.of(); of != "" {
			e.Lock, s.locks[e.Client] = of, of
		}
	case "calls":
		e.Kind = history.KindCall
		e.Op, _ = history.ParseOp(w.next())
		e.ID = number(w)
		s.calls[e.ID] = e.Op
		if of := w.of(); of != "" {
			e.Lock, s.lockOf[e.ID] = of, of
		}
	case "returns":
		e.Kind = history.KindReturn
		e.ID = number(w)
		e.Op, e.Lock = s.calls[e.ID], s.lock(e.Client, e.ID)
		e.Outcome, _ = history.ParseOutcome(w.next())
		if e.Outcome == 0 || e.Op == 0 {
			return fmt.Errorf("bad return of operation %d", e.ID)
		}
	case "sends", "writes":
		return s.command(e, w, verb == "writes", effect)
	case "valid":
		e.Kind = history.KindValid
		*w = append(words{"valid"}, *w...)
	case "lost":
		e.Kind = history.KindLost
		if len(*w) > 0 {
			e.ID = number(w)
		}
	case "exits":
		e.Kind, e.Lock = history.KindExit, ""
	default:
		return fmt.Errorf("%s does what? %q", e.Client, verb)
	}
	return options(e, w)
}

func number(w *words) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(w.next(), "#"), 10, 64)
	return n
}

func (s *story) command(e *history.Event, w *words, work bool, effect string) error {
	c := &history.Command{Server: "redis"}
	e.Kind, e.Lock, e.Detail = history.KindCommand, "", &history.Detail{Command: c}
	if len(*w) > 0 && strings.HasPrefix((*w)[0], "#") {
		e.ID = number(w)
		e.Op = s.calls[e.ID]
	}
	key := s.lock(e.Client, e.ID)
	if work {
		c.Server, key, c.Reply = history.Resource, storyCounter, "OK"
	}
	c.Args, *w = *w, nil
	for n := range c.Args {
		c.Args[n] = blanks(c.Args[n])
	}
	states, flags, _ := strings.Cut(effect, ";")
	before, after, ok := strings.Cut(states, "->")
	if ok {
		change := history.Change{Key: key}
		var err1, err2 error
		change.Before, err1 = state(before)
		change.After, err2 = state(after)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("bad states %q", states)
		}
		c.Changes = []history.Change{change}
	}
	left := words(strings.Fields(flags))
	return options(e, &left)
}

func state(text string) (history.State, error) {
	value, ttl, limited := strings.Cut(strings.TrimSpace(text), "@")
	if value == "-" {
		return history.State{}, nil
	}
	s := history.State{Type: "string", Value: value}
	var err error
	if limited {
		s.TTL, err = time.ParseDuration(ttl)
	}
	return s, err
}

func blanks(text string) string { return strings.ReplaceAll(text, "_", " ") }

// optionWords are the words that may follow an event, and where they go.
type optionWords struct {
	flags   map[string]*bool
	lengths map[string]*time.Duration
	numbers map[string]*int64
	texts   map[string]*string
}

func optionsOf(e *history.Event, d *history.Detail, c *history.Command) optionWords {
	return optionWords{
		flags: map[string]*bool{
			"leaseless": &d.Leaseless, "session": &d.Session, "reentrant": &d.Reentrant, "fair": &d.Fair, "gave-up": &d.GaveUp,
			"late": &c.Late, "again": &c.Again, "dropped": &c.ReplyDropped,
		},
		lengths: map[string]*time.Duration{"lease": &d.Lease, "bound": &d.Bound, "valid": &e.Valid, "asked": &c.Asked, "sent": &c.Sent},
		numbers: map[string]*int64{"fence": &e.Fence, "read": &d.Read, "wrote": &d.Wrote, "by": &c.Conn},
		texts:   map[string]*string{"reply": &c.Reply, "error": &d.Error, "on": &c.Server},
	}
}

func options(e *history.Event, w *words) (err error) {
	d, c := e.Detail, new(history.Command)
	if d == nil {
		d = new(history.Detail)
	}
	if d.Command != nil {
		c = d.Command
	}
	known := optionsOf(e, d, c)
	for len(*w) > 0 && err == nil {
		word := w.next()
		switch {
		case known.flags[word] != nil:
			*known.flags[word] = true
		case known.lengths[word] != nil:
			*known.lengths[word], err = time.ParseDuration(w.next())
		case known.numbers[word] != nil:
			*known.numbers[word], err = strconv.ParseInt(w.next(), 10, 64)
		case known.texts[word] != nil:
			*known.texts[word] = blanks(w.next())
		case word == "servers":
			d.Servers, err = strconv.Atoi(w.next())
		case word == "need":
			d.Need, err = strconv.Atoi(w.next())
		case word == "work":
			d.Work = &history.Work{Workload: history.Workload(w.next())}
		case word == "has" && d.Work != nil:
			name, values, _ := strings.Cut(w.next(), "=")
			datum := history.Datum{Name: blanks(name)}
			if values != "" {
				datum.Values = strings.Split(blanks(values), "|")
			}
			d.Work.Data = append(d.Work.Data, datum)
		default:
			return fmt.Errorf("what is %q?", word)
		}
	}
	if e.Detail == nil && !reflect.DeepEqual(*d, history.Detail{}) {
		e.Detail = d
	}
	return err
}
