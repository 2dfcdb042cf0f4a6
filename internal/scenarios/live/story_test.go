//go:build linux || darwin

package live_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

// tells asserts that the lines occur in the story in this order; others may stand between them.
func tells(t *testing.T, events []history.Event, lines ...string) {
	t.Helper()
	told := story(events)
	missing := missingFrom(told, lines...)
	assert.Empty(t, missing, "it is missing, or stands too early, in\n%s", strings.Join(told, "\n"))
}

// faultsAreEvident asserts that each fault was injected before it took effect, took effect before it was taken back, and says how
// that was seen. A breakpoint is armed with its operation, so it has only an effect.
func faultsAreEvident(t *testing.T, events []history.Event) {
	t.Helper()
	atMessages := []string{"hold", "hold-reply", "duplicate", "hold-copy"}
	held := map[string]int{} // a client can have something late beside what its operation is held by
	last := map[string]history.Phase{}
	for _, e := range events {
		if e.Kind != history.KindFault || e.Detail.Fault.Phase == history.PhaseEnding { // that is no effect
			continue
		}
		f := e.Detail.Fault
		assert.NotEmpty(t, f.What, "%s of %s: %s", f.Name, f.Target, f.Phase)
		for _, server := range serversOf(f) {
			what := f.Target + " " + f.Name + server
			switch f.Phase {
			case history.PhaseEffective:
				// Replies are lost on a link, or at a breakpoint.
				if !slices.Contains(atMessages, f.Name) && f.Name != "reply-lost" {
					assert.Equal(t, history.PhaseInject, last[what], what)
				}
				held[what]++
			case history.PhaseEnding:
				assert.Equal(t, history.PhaseEffective, last[what], what)
			case history.PhaseRecover:
				if !slices.Contains(atMessages, f.Name) {
					assert.Contains(t, []history.Phase{history.PhaseEffective, history.PhaseEnding}, last[what], what)
				}
				held[what]--
				assert.GreaterOrEqual(t, held[what], 0, what)
			}
			last[what] = f.Phase
		}
	}
	for what, phase := range last {
		assert.NotEqual(t, history.PhaseInject, phase, "%s was never seen to take effect", what)
	}
}

var toServers = regexp.MustCompile(`\bto (S\d(?:, S\d)*): `)

// serversOf names the servers, to which the links are that a fault befell; where there is only one, it is not named.
func serversOf(f *history.Fault) (names []string) {
	for _, some := range toServers.FindAllStringSubmatch(f.What, -1) {
		for name := range strings.SplitSeq(some[1], ", ") {
			if !slices.Contains(names, " to "+name) { // a process may have several links there
				names = append(names, " to "+name)
			}
		}
	}
	if names == nil {
		return []string{""}
	}
	return names
}

// story tells a history in short lines:
//
//	C1 acquire            an operation is called
//	C1 acquire: ok        and has returned
//	C1 sends SET          a command of a client has reached a server; "again", "late" and "unheard" may follow
//	C1 pause: effective   a phase of a fault
//	C1 exit, C1 lost      as it says
//	counter 2             what the lab found at the end
//	skipped: C2 release   a step was left out
//	end: complete         how the script ended
func story(events []history.Event) []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, e := range events {
		switch e.Kind {
		case history.KindCall:
			say("%s %v", e.Client, e.Op)
		case history.KindReturn:
			say("%s %v: %v", e.Client, e.Op, e.Outcome)
		case history.KindCommand:
			say("%s sends %s", e.Client, commandLine(e.Command()))
		case history.KindFault:
			if e.Detail.Fault.Phase == history.PhaseEnding {
				continue // the model has no such moment
			}
			say("%s %s: %s", e.Detail.Fault.Target, e.Detail.Fault.Name, e.Detail.Fault.Phase)
		case history.KindExit:
			say("%s exit", e.Client)
		case history.KindLost:
			say("%s lost", e.Client)
		case history.KindFinal:
			say("counter %d", e.Detail.Value)
		case history.KindStep:
			if e.Detail.Why != "" {
				say("skipped: %s", strings.Join(strings.Fields(e.Detail.Text), " "))
			}
		case history.KindEnd:
			say("end: %s", e.Detail.Text)
		}
	}
	return lines
}

func commandLine(c *history.Command) string {
	line := strings.ToUpper(c.Args[0])
	for _, mark := range []struct {
		set  bool
		word string
	}{{c.Again, "again"}, {c.Late, "late"}, {c.ReplyDropped, "unheard"}} {
		if mark.set {
			line += " " + mark.word
		}
	}
	return line
}

// missingFrom is the first of the lines that a story does not tell in their order, or ""; others may stand between them.
func missingFrom(story []string, lines ...string) string {
	for _, line := range lines {
		i := slices.Index(story, line)
		if i < 0 {
			return line
		}
		story = story[i+1:]
	}
	return ""
}
