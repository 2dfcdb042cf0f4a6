package diagram

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report/format"
)

// faultWord is the state of what a fault has hit.
func faultWord(name string) string {
	if f, known := faults.Find(name); known {
		return f.State
	}
	return name
}

// maxWords bounds text from clients and servers in one line of a report.
const maxWords = 160

// describe is an event in one line, without its time and without who did it. The line is clean.
func (t *Chart) describe(i int) string {
	e := t.Events[i]
	d := e.Detail
	if d == nil {
		d = &history.Detail{}
	}
	return format.Clip(format.Clean(t.words(i, e, d)), maxWords)
}

func (t *Chart) words(i int, e history.Event, d *history.Detail) string {
	switch e.Kind {
	case history.KindOpen:
		return openWords(e, d)
	case history.KindCall:
		if d.Bound > 0 {
			return fmt.Sprintf("%s, for up to %s", e.Op.String(), format.Duration(d.Bound))
		}
		return e.Op.String()
	case history.KindReturn:
		return returnWords(e, d)
	case history.KindLost:
		if e.ID > 0 {
			return fmt.Sprintf("loss notice of the hold by acquire #%d%s", e.ID, format.After(": ", d.Why))
		}
		return "loss notice" + format.After(": ", d.Why)
	case history.KindValid:
		return "hold confirmed for " + format.Duration(e.Valid)
	case history.KindExit:
		return "is gone" + format.After(": ", d.Why)
	case history.KindCommand:
		return commandWords(e.Command()) + replyWords(e.Command()) + format.After("; ", t.Notes[i])
	case history.KindFault:
		return faultWords(d.Fault)
	case history.KindStep:
		if d.Why != "" {
			return fmt.Sprintf("line %d: %s  (skipped: %s)", d.Line, d.Text, d.Why)
		}
		return fmt.Sprintf("line %d: %s", d.Line, d.Text)
	case history.KindFinal:
		if d.Work != nil {
			return "at the end there is " + dataWords(d.Work)
		}
		return fmt.Sprintf("at the end the resource reads %d", d.Value)
	case history.KindEnd:
		return "the script has ended: " + d.Text + format.After(": ", d.Why)
	}
	return "event of an unknown kind"
}

func openWords(e history.Event, d *history.Detail) string {
	words := "opens " + e.Lock
	switch {
	case d.Leaseless:
		words += ", no lease"
	case d.Session:
		words += ", session " + format.Duration(d.Lease)
	default:
		words += ", lease " + format.Duration(d.Lease)
	}
	if d.Permits > 1 {
		words += fmt.Sprintf(", %d permits", d.Permits)
	}
	return words
}

// dataWords lists what was found of the data, but for what is empty.
func dataWords(w *history.Work) string {
	var words []string
	for _, datum := range w.Data {
		if len(datum.Values) > 0 {
			words = append(words, datum.Name+": "+strings.Join(datum.Values, ", "))
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, "; ")
}

func returnWords(e history.Event, d *history.Detail) string {
	text := e.Op.String() + ": " + e.Outcome.String()
	switch {
	case e.Op != history.OpWork || e.Outcome != history.OK:
	case d.Text != "":
		text += ", " + d.Text
	default:
		text += fmt.Sprintf(", read %d, wrote %d", d.Read, d.Wrote)
	}
	if e.Valid > 0 {
		text += ", valid for " + format.Duration(e.Valid)
	}
	if e.Fence != 0 {
		text += fmt.Sprintf(", fencing token %d", e.Fence)
	}
	if d.GaveUp {
		text += ", gave up"
	}
	return text + format.After(": ", d.Error)
}

// brief is a word of a command as a reader would say it: a token by its beginning, and the counter without the number of its cell.
func brief(word string) string {
	if token.MatchString(word) && strings.ContainsAny(word, "0123456789") {
		return format.Clip(word, 7)
	}
	return format.Clip(counterOfCell.ReplaceAllString(word, "$1"), 40)
}

// briefly is a text with its words made brief.
func briefly(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = brief(word)
	}
	return strings.Join(words, " ")
}

var (
	token         = regexp.MustCompile(`^[0-9A-Za-z+/_-]{22,}={0,2}(:\d+)?$`) // also of a thread
	counterOfCell = regexp.MustCompile(`^\d+:(counter\b)`)
)

// commandWords is the command as sent, with what was unusual about its way.
func commandWords(c *history.Command) string {
	if c == nil {
		return "a command"
	}
	words := make([]string, len(c.Args))
	for i, arg := range c.Args {
		words[i] = brief(arg)
	}
	if len(words) > 1 && strings.EqualFold(words[0], "EVALSHA") {
		words[1] = format.Clip(c.Args[1], 9) // enough to tell one script from another
	}
	text := strings.Join(words, " ")
	if c.Again {
		text += " (resent)"
	}
	if c.Late {
		text += " (late)"
	}
	return text
}

func replyWords(c *history.Command) string {
	switch {
	case c == nil:
		return ""
	case c.ReplyDropped:
		return format.After(" → ", c.Reply) + " (reply lost)"
	}
	return format.After(" → ", c.Reply)
}

func faultWords(f *history.Fault) string {
	if f == nil {
		return "a fault"
	}
	switch f.Phase {
	case history.PhaseEffective:
		if faults.Kind(f.Name).Holds() {
			return faultWord(f.Name) + format.After(": ", briefly(f.What))
		}
		return f.Name + " in effect" + format.After(": ", f.What)
	case history.PhaseEnding:
		return f.Name + " about to end" + format.After(": ", f.What)
	case history.PhaseRecover:
		return f.Name + " over" + format.After(": ", f.What)
	}
	return f.Name + format.After(": ", f.What)
}

// stamp writes a time since the start of the cell in milliseconds.
func stamp(d time.Duration) string { return fmt.Sprintf("%.1f", format.Milliseconds(d)) }
