package scenarios

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
)

// Format writes the script in its canonical form. Parsed again it yields the same script, except Path, Name, Builtin, and the Line and Text
// of its steps. Comments after a step are not part of a script.
func Format(s *Script) []byte {
	var out bytes.Buffer
	if s.Title != "" {
		fmt.Fprintf(&out, "# %s\n", s.Title)
	}
	for _, text := range s.About {
		out.WriteString(strings.TrimRight("# "+text, " ") + "\n")
	}
	width := len("clients")
	if s.workWords() != "" {
		width = len("workload")
	}
	for _, h := range s.headerLines() {
		if name, value := h[0], h[1]; value != "" {
			fmt.Fprintf(&out, "%-*s  %s\n", width, name, value)
		}
	}
	out.WriteString("\n")
	width = 0
	for _, name := range s.Actors() {
		width = max(width, len(name))
	}
	write := func(steps []Step) {
		for _, step := range steps {
			fmt.Fprintf(&out, "%-*s  %s\n", width, step.Subject(), step.says())
		}
	}
	for i := 0; i < len(s.Steps); {
		all, each, ok := s.repeated(i)
		if !ok {
			write(s.Steps[i : i+1])
			i++
			continue
		}
		fmt.Fprintf(&out, "repeat %d\n", all/each)
		write(s.Steps[i : i+each])
		out.WriteString("end\n")
		i += all
	}
	return out.Bytes()
}

// headerLines are the headers with their values; "" if the script leaves one out.
func (s *Script) headerLines() [][2]string {
	return [][2]string{
		{"source", s.Source}, {"workload", s.workWords()}, {"lease", span(s.Lease)}, {"clients", strings.Join(s.Actors(), " ")},
		{"other-key", strings.Join(s.OtherKey, " ")}, {"servers", s.serversWord()}, {"needs", strings.Join(stringsOf(s.Needs), " ")},
		{"expect", s.Expect.String()},
	}
}

// String is the expectation as scripts write it: "getset overwrite, early-grant"; empty if there is none.
func (e Expectation) String() string {
	return strings.TrimSpace(e.Lock + " " + strings.Join(stringsOf(e.Anomalies), ", "))
}

// serversWord is the number of servers; "" if the script sets none.
func (s *Script) serversWord() string {
	if s.Servers == 0 {
		return ""
	}
	return strconv.Itoa(s.Servers)
}

// says is the step without its subject.
func (s Step) says() string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	add("%s", s.verbWords())
	if argument := s.argumentWords(); argument != "" {
		add("%s", argument)
	}
	if len(s.Servers) > 0 && s.Client != "" {
		add("%s", s.serverWords())
	}
	if s.Anyway {
		add("anyway")
	}
	if s.IfUnknown {
		add("if unknown")
	}
	if s.Within != (Span{}) {
		add("within %s", s.Within)
	}
	if s.Async {
		add("in background")
	}
	if len(s.Breakpoints) > 0 {
		breakpoints := make([]string, len(s.Breakpoints))
		for i, at := range s.Breakpoints {
			breakpoints[i] = at.String()
		}
		add("%s", strings.Join(breakpoints, ", "))
	}
	if len(s.Want) > 0 {
		add("=> %s", strings.Join(stringsOf(s.Want), " | "))
	}
	return strings.Join(words, " ")
}

// argumentWords are what follows the verb of a fault; "" if nothing does.
func (s Step) argumentWords() string {
	switch s.Verb.takes() {
	case faults.TakesSetting:
		return s.clockWords()
	case faults.TakesJump:
		if s.Span.Fixed < 0 || s.Span.Leases < 0 {
			return "back " + s.Span.negative().String()
		}
		return s.Span.String()
	case faults.TakesSpan:
		return s.Span.String()
	case faults.TakesAge:
		if s.Span != (Span{}) {
			return s.Span.String() + " ago"
		}
	case faults.TakesReplica:
		return s.replicaWords()
	case faults.TakesClients:
		return strings.Join(s.Without, " ")
	case faults.TakesDirection:
		if s.Direction != faults.Both {
			return s.Direction.String()
		}
	}
	return ""
}

// verbWords are the words of the verb, which differ by who acts.
func (s Step) verbWords() string {
	switch {
	case s.Verb == VerbOp:
		return s.Op.String()
	case s.OnWhichever():
		return "on " + Whichever + " " + string(s.Verb)
	case s.Client == "" && len(s.Servers) == 0:
		return labSpelling(s.Verb)
	}
	return string(s.Verb)
}

func (s Step) clockWords() string {
	switch {
	case s.Span.Fixed < 0 || s.Span.Leases < 0:
		return "behind " + s.Span.negative().String()
	case s.Span != Span{}:
		return "ahead " + s.Span.String()
	case s.Rate != 1:
		return "rate " + number(s.Rate)
	}
	return "right"
}

// String is the span as scripts write it: "2s", "3 leases".
func (s Span) String() string {
	switch {
	case s.Leases == 1:
		return "1 lease"
	case s.Leases != 0:
		return number(s.Leases) + " leases"
	}
	return span(s.Fixed)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// span formats a duration without trailing zero units: "1m", not "1m0s".
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
