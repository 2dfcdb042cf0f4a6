package exploration

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/sim/trace"
)

// StepText is a step in one line, without its time and its client.
func StepText(t *trace.Trace, s trace.Step) string {
	switch s.Kind {
	case trace.Call:
		return "calls " + s.Op.String()
	case trace.Serve, trace.Arrive:
		text := RequestText(t, s.Request) + " → " + replyText(t, s.Reply)
		if t.Servers > 1 && s.Server >= 0 {
			text = fmt.Sprintf("S%d: %s", s.Server+1, text)
		}
		switch {
		case s.Kind == trace.Arrive:
			return "late: " + text
		case s.Beside:
			return "background: " + text
		}
		return text
	case trace.Reply:
		return "receives " + replyText(t, s.Reply)
	case trace.Wake:
		return "wakes up"
	case trace.Return:
		return s.Op.String() + " " + answerText(s)
	case trace.Expire:
		return "its time-out is over"
	case trace.Break:
		if s.Request == nil {
			return "its connection has broken: no reply"
		}
		return "its connection has broken: " + RequestText(t, s.Request) + " is lost"
	case trace.Time:
		return spanText(s.Passed) + " pass"
	case trace.Heal:
		return "its partition is healed"
	case trace.Notice:
		return s.Text
	case trace.Fault:
		text := "⚡ " + string(s.Fault) + format.After(": ", RequestText(t, s.Request)) + faultExtent(t, s)
		if s.Waits {
			text += ", and it keeps waiting"
		}
		return text
	}
	return string(s.Kind)
}

// faultExtent says how much a fail-over has lost, if more than the last write, and by how much a wrong clock is wrong.
func faultExtent(t *trace.Trace, s trace.Step) string {
	switch {
	case s.Lost > 1:
		return fmt.Sprintf(", %d writes lost", s.Lost)
	case t.Rate(s.Fault) != 1:
		return fmt.Sprintf(" at rate %v", t.Rate(s.Fault))
	case s.Fault.Of().Recorded == faults.Skew:
		return " by " + spanText(t.Skew)
	}
	return ""
}

func answerText(s trace.Step) string {
	text := s.Answer.Outcome.String()
	switch {
	case s.Answer.Outcome == history.OK && s.Op == history.OpWork:
		text += fmt.Sprintf(" (read %d, wrote %d)", s.Answer.Read, s.Answer.Wrote)
	case s.Answer.Outcome == history.OK && s.Answer.Limited:
		text += " for " + spanText(max(s.Answer.Valid, 0))
	}
	if s.Answer.Fence != 0 {
		text += fmt.Sprintf(", fence %d", s.Answer.Fence)
	}
	return text
}

// RequestText is a request in short: of a script, that it is one.
func RequestText(t *trace.Trace, request [][]string) string {
	var words []string
	for _, command := range request {
		command = slices.Clone(command)
		if len(command) > 2 && (command[0] == "EVAL" || command[0] == "EVALSHA") {
			command = append([]string{command[0], "…"}, command[3:]...)
		}
		words = append(words, readable(t, strings.Join(command, " ")))
	}
	return strings.Join(words, "; ")
}

func replyText(t *trace.Trace, reply string) string {
	if first, _, ok := strings.Cut(reply, " No matching script"); ok {
		return first
	}
	return readable(t, reply)
}

// spanText is a length of time as people write it: 0, 40ms, 1.201s.
func spanText(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return d.String()
}

// traceTime is a moment as the checker writes it.
func traceTime(at time.Duration) string { return fmt.Sprintf("%.3fs", at.Seconds()) }

// KeyText is what a server has under the lock's key.
func KeyText(t *trace.Trace, s history.State) string {
	switch {
	case !s.Exists():
		return "-"
	case s.TTL == 0:
		return readable(t, s.Value) + ", no expiry"
	}
	return readable(t, s.Value) + ", " + spanText(s.TTL)
}

// enough says how few faults it took: "1 × pause is enough", "No fault is needed".
func enough(t *trace.Trace) string {
	counts := map[faults.Kind]int{}
	for _, kind := range t.Faults {
		counts[kind]++
	}
	var terms []string
	for _, kind := range t.Faults {
		if counts[kind] > 0 {
			terms = append(terms, fmt.Sprintf("%d × %s", counts[kind], kind))
		}
		delete(counts, kind)
	}
	switch len(t.Faults) {
	case 0:
		return "No fault is needed"
	case 1:
		return terms[0] + " is enough"
	}
	return strings.Join(terms, " and ") + " are enough"
}

// readable makes what a lock stores easier to read: without quotes, and with moments by the trace's own clock.
func readable(t *trace.Trace, text string) string {
	text = strings.NewReplacer(`\"`, "", `"`, "", ",", " ", "{", "", "}", "").Replace(text)
	return moments.ReplaceAllStringFunc(text, func(digits string) string {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return digits
		}
		at := time.UnixMilli(n)
		if len(digits) == len("1577836800") {
			at = time.Unix(n, 0)
		}
		moment := at.Sub(t.Began) + trace.Start
		if moment < -time.Hour || moment > time.Hour {
			return digits
		}
		return traceTime(moment)
	})
}

// moments finds what may be a time in seconds or milliseconds.
var moments = regexp.MustCompile(`\b\d{10}(\d{3})?\b`)
