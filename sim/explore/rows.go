package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// row is one line of a story: what one client, one server or time did, and what was so after it.
type row struct {
	at     time.Duration
	client int // negative: nobody's
	server int // of a server's fault; negative: none
	text   string
	fault  bool
	first  int // index of the first step that it tells
	last   int // and of the last one
	after  []history.State
	held   []bool
	open   bool // a request that its client has had no answer to
}

// everyStep tells each step by itself.
func (t *Trace) everyStep() []row {
	var rows []row
	for i, s := range t.Steps {
		r := t.row(i, s)
		switch s.Kind {
		case StepCall:
			r.text = "calls " + s.Op.String()
		case StepReply:
			r.text = "reads " + shortReply(s.Reply)
		case StepWake:
			r.text = "wakes up"
		}
		rows = append(rows, r)
	}
	return rows
}

// row is a step as a row of its own.
func (t *Trace) row(i int, s Step) row {
	r := row{
		at: s.At + start, client: s.Client, server: -1, text: t.words(s), fault: s.Kind == StepFault, first: i, last: i, after: s.After, held: s.Held,
		open: s.Kind == StepServe && !s.Beside,
	}
	if s.Kind == StepFault && s.Client < 0 {
		r.server = s.Server
	}
	return r
}

// rows collapses the steps of a trace. A call is told with its first request, a reply with what the client concludes from it, and a
// refusal with the request that was refused: nobody else can tell the difference.
func (t *Trace) rows() []row {
	var rows []row
	called := map[int]int{} // by client: the step of a call that has not been told
	for i, s := range t.Steps {
		text := t.words(s)
		switch s.Kind {
		case StepCall:
			called[s.Client] = i
			continue
		case StepReply, StepWake:
			continue
		case StepReturn:
			if at := refusedBy(rows, s); at >= 0 {
				rows[at].text += ", " + text
				continue
			}
			if n := len(rows) - 1; n >= 0 && rows[n].open && rows[n].client == s.Client {
				rows[n].text, rows[n].last, rows[n].held, rows[n].open = rows[n].text+", "+text, i, s.Held, false
				continue
			}
		}
		r := t.row(i, s)
		if s.Kind == StepFault && (s.Fault == Pause || s.Fault == Overwork) && len(rows) > 0 {
			r.after, r.held = rows[len(rows)-1].after, rows[len(rows)-1].held // the time that passes is told next
		}
		if from, ok := called[s.Client]; ok && s.Kind == StepServe && s.Op == t.Steps[from].Op && !s.Beside {
			r.text, r.first = s.Op.String()+": "+r.text, from
			delete(called, s.Client)
		}
		rows = append(rows, r)
	}
	return rows
}

// refusedBy is the row with the request after which an acquire was refused; negative: it was not, or more came between.
func refusedBy(rows []row, s Step) int {
	if s.Op != history.OpAcquire || s.Answer.Outcome != history.No {
		return -1
	}
	for i, r := range slices.Backward(rows) {
		if r.client != s.Client {
			continue
		}
		if r.open && slices.Equal(r.held, s.Held) {
			return i
		}
		return -1
	}
	return -1
}

// words tells a step.
func (t *Trace) words(s Step) string {
	switch s.Kind {
	case StepServe, StepArrive:
		text := commands(s.Request) + " → " + shortReply(s.Reply)
		if t.Servers > 1 && s.Server >= 0 {
			text = fmt.Sprintf("S%d: %s", s.Server+1, text)
		}
		switch {
		case s.Kind == StepArrive:
			return "late: " + text
		case s.Beside:
			return "beside: " + text
		}
		return text
	case StepReturn:
		return s.Op.String() + " " + answered(s)
	case StepExpire:
		return "its time-out is over"
	case StepTime:
		return spell(s.Passed) + " pass"
	case StepNotice:
		return s.Text
	case StepFault:
		return "⚡ " + s.Fault.String() + after(": ", commands(s.Request)) + t.howFar(s)
	}
	return ""
}

// howFar says how much a fail-over has lost, if more than the last write, and by how much a wrong clock is wrong.
func (t *Trace) howFar(s Step) string {
	switch {
	case s.Fault == FailOver && s.Lost > 1:
		return fmt.Sprintf(", %d writes lost", s.Lost)
	case s.Fault == ClockAhead || s.Fault == ClockBehind:
		return " by " + spell(t.Skew)
	}
	return ""
}

func answered(s Step) string {
	text := s.Answer.Outcome.String()
	switch {
	case s.Answer.Outcome == history.OK && s.Op == history.OpWork:
		text += fmt.Sprintf(" (read %d, wrote %d)", s.Answer.Read, s.Answer.Wrote)
	case s.Answer.Outcome == history.OK && s.Answer.Limited:
		text += " for " + spell(max(s.Answer.Valid, 0))
	}
	if s.Answer.Fence != 0 {
		text += fmt.Sprintf(", fence %d", s.Answer.Fence)
	}
	return text
}

// commands are a request in short: of a script, that it is one.
func commands(request [][]string) string {
	var words []string
	for _, command := range request {
		command = slices.Clone(command)
		if len(command) > 2 && (command[0] == "EVAL" || command[0] == "EVALSHA") {
			command = append([]string{command[0], "…"}, command[3:]...)
		}
		words = append(words, plainly(strings.Join(command, " ")))
	}
	return strings.Join(words, "; ")
}

func shortReply(reply string) string {
	if first, _, ok := strings.Cut(reply, " No matching script"); ok {
		return first
	}
	return plainly(reply)
}

func after(sep, text string) string {
	if text == "" {
		return ""
	}
	return sep + text
}

// spell is a time as people write it: 0, 40ms, 1.201s.
func spell(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return d.String()
}

// clock is a moment as the checker writes it.
func clock(at time.Duration) string { return fmt.Sprintf("%.3fs", at.Seconds()) }

// keyWords is what a server has under the lock's key.
func keyWords(s history.State) string {
	switch {
	case !s.Exists():
		return "-"
	case s.TTL == 0:
		return plainly(s.Value) + ", no end"
	}
	return plainly(s.Value) + ", " + spell(s.TTL)
}

// Turning is the step with the last fault; without one, the last step before the anomaly in which a command changed the lock's key;
// negative: there is neither. That nothing could have saved the lock after it has not been shown.
func (t *Trace) Turning() int {
	for i, s := range slices.Backward(t.Steps) {
		if s.Kind == StepFault {
			return i
		}
	}
	for i := len(t.Steps) - 2; i > 0; i-- {
		s := t.Steps[i]
		if (s.Kind == StepServe || s.Kind == StepArrive) && !slices.Equal(t.Steps[i-1].After, s.After) {
			return i
		}
	}
	return -1
}

// enough says how little it takes: "1 pause is enough", "no fault is needed".
func (t *Trace) enough() string {
	var kinds []string
	counts := map[string]int{}
	for _, name := range t.Faults {
		if counts[name]++; counts[name] == 1 {
			kinds = append(kinds, name)
		}
	}
	for i, name := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", counts[name], name)
	}
	switch len(t.Faults) {
	case 0:
		return "No fault is needed"
	case 1:
		return kinds[0] + " is enough"
	}
	return strings.Join(kinds, " and ") + " are enough"
}
