// Package recorded judges what others have recorded: the output of redis-cli MONITOR, or a client's own log of its acquires and releases.
//
// It turns a recording into histories and leaves them to the checker. It owns which anomalies can be told from which recording, and says what was assumed. It must not
// claim more: a recording in which nothing was found is not safe.
package recorded

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// Version is the version of the schema of a Judgement in JSON. Fields may be added without a new one.
const Version = 1

// Result is what came of a recording.
type Result string

// The results. None of them is safe.
const (
	Broken  Result = "broken"        // an anomaly was found
	Nothing Result = "nothing-found" // none that can be told from such a recording
	Unknown Result = "unknown"       // nothing could be judged: see Judgement.Why
	Failed  Result = "failed"        // the lab's own judges disagree
)

// Judgement is what can be told from a recording.
type Judgement struct {
	Version int    `json:"v"`
	File    string `json:"file"`
	Format  string `json:"format"`
	Result  Result `json:"result"`
	Why     string `json:"why,omitempty"` // of unknown and failed
	// Lines are those that say something, and Clients and Locks who and what was in them.
	Lines   int           `json:"lines"`
	Lasted  time.Duration `json:"lasted_ns"`
	Clients []string      `json:"clients"`
	Locks   []string      `json:"locks"`
	Found   []Finding     `json:"found"`
	// LookedFor are the anomalies that can be told from such a recording, and CannotTell all others.
	LookedFor  []checker.Name `json:"looked_for"`
	CannotTell []checker.Name `json:"cannot_tell"`
	Because    string         `json:"because"`
	Assumed    []string       `json:"assumed"`
	Unjudged   []string       `json:"unjudged"` // what was in the recording and could not be judged
}

// Finding is an anomaly with the lines that show it.
type Finding struct {
	Name    checker.Name  `json:"name"`
	Lock    string        `json:"lock"`
	Clients []string      `json:"clients"` // who did it first, then whom it hit
	At      time.Duration `json:"at_ns"`   // since the first line
	Why     string        `json:"why"`
	If      string        `json:"if,omitempty"` // what must have been so, where the recording does not show it
	Lines   []Line        `json:"lines"`
}

// Line is a line of the recording.
type Line struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
}

// Options say how a recording is read.
type Options struct {
	Locks []string // of MONITOR: these keys are locks, beside those that are set with NX
	Twice bool     // the checker is asked for its second opinion
}

// Format is a kind of recording.
type Format struct {
	Name string
	Idea string
	Read func(r io.Reader, file string, opts Options) (*Judgement, error)
}

// Formats lists them.
func Formats() []Format {
	return []Format{
		{"monitor", "the output of redis-cli MONITOR", Monitor},
		{"log", "a client's own log of acquires and releases, in JSON lines", Log},
	}
}

// InputError says what is wrong with a recording, and where.
type InputError struct {
	File string
	Line int // 0: the whole file
	Err  error
}

func (e *InputError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *InputError) Unwrap() error { return e.Err }

// maxLine bounds a line, in bytes.
const maxLine = 8 << 20

var errNothing = errors.New("there is nothing in it")

// lines reads a recording line by line; blank ones are skipped. The error of each is an *InputError.
func lines(r io.Reader, file string, each func(number int, text string) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	number := 0
	for in.Scan() {
		number++
		text := strings.TrimSuffix(in.Text(), "\r")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := each(number, text); err != nil {
			return &InputError{file, number, err}
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return &InputError{file, number + 1, fmt.Errorf("the line is longer than %d bytes", maxLine)}
	case err != nil:
		return &InputError{file, number + 1, err}
	}
	return nil
}

// part is a history from a recording, with the line of each event.
type part struct {
	events []history.Event
	lines  []Line
	given  string // what must have been so at its begin, for it to be true
}

func (p *part) add(e history.Event, line Line) {
	p.events = append(p.events, e)
	p.lines = append(p.lines, line)
}

// judge adds what the checker finds in the parts, as far as it can be told from such a recording.
func (j *Judgement) judge(parts []*part, opts Options) {
	for _, p := range parts {
		v := checker.Judge(p.events, checker.Options{Twice: opts.Twice})
		if v.CheckerFault {
			j.Result, j.Why = Failed, v.Reason
			return
		}
		for _, a := range v.Anomalies {
			if slices.Contains(j.LookedFor, a.Name) {
				j.Found = append(j.Found, p.finding(a))
			}
		}
	}
	slices.SortStableFunc(j.Found, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
	switch {
	case len(j.Found) > 0:
		j.Result, j.Why = Broken, ""
	case j.Why != "":
		j.Result = Unknown
	default:
		j.Result = Nothing
	}
}

// finding is an anomaly with its lines, each once.
func (p *part) finding(a checker.Anomaly) Finding {
	f := Finding{Name: a.Name, Lock: a.Lock, Clients: a.Clients, At: a.At, Why: a.Why, If: p.given}
	for _, event := range a.Events {
		line := p.lines[event]
		if line.Number > 0 && !slices.Contains(f.Lines, line) {
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}

// newJudgement is one with nothing in it yet, of a recording from which these anomalies can be told.
func newJudgement(file, format string, told ...checker.Name) *Judgement {
	j := &Judgement{Version: Version, File: file, Format: format, Clients: []string{}, Locks: []string{}, Found: []Finding{}, LookedFor: told, Assumed: []string{}, Unjudged: []string{}}
	for _, d := range checker.Definitions() {
		if !slices.Contains(told, d.Name) {
			j.CannotTell = append(j.CannotTell, d.Name)
		}
	}
	return j
}

// note adds a name to a list, once.
func note(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}
