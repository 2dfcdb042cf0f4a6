package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
)

// Story tells a history in short lines:
//
//	C1 acquire            an operation is called
//	C1 acquire: ok        and has returned
//	C1 sends SET          a command of a client has reached a server; "again", "late" and "unheard" may follow
//	C1 pause: effective   a phase of a fault
//	C1 exit, C1 lost      as it says
//	counter 2             what the lab found at the end
//	skipped: C2 release   a step was left out
//	end: complete         how the script ended
func Story(events []history.Event) []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, e := range events {
		switch e.Kind {
		case history.KindCall:
			say("%s %v", e.Client, e.Op)
		case history.KindReturn:
			say("%s %v: %v", e.Client, e.Op, e.Outcome)
		case history.KindCommand:
			say("%s sends %s", e.Client, commandLine(e.Detail.Command))
		case history.KindFault:
			say("%s %s: %s", e.Detail.Fault.Target, e.Detail.Fault.Name, e.Detail.Fault.Phase)
		case history.KindExit:
			say("%s exit", e.Client)
		case history.KindLost:
			say("%s lost", e.Client)
		case history.KindFinal:
			say("counter %d", e.Detail.Value)
		case history.KindStep:
			if text, skipped := strings.CutSuffix(e.Detail.Text, "  (skipped: "+e.Client+" does not hold the lock)"); skipped {
				say("skipped: %s", strings.Join(strings.Fields(text), " "))
			}
		case history.KindEnd:
			say("end: %s", e.Detail.Text)
		}
	}
	return lines
}

func commandLine(c *history.Command) string {
	line := c.Args[0]
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

// Missing is the first of the lines that a story does not tell in their order, or ""; others may stand between them.
func Missing(story []string, lines ...string) string {
	for _, line := range lines {
		i := slices.Index(story, line)
		if i < 0 {
			return line
		}
		story = story[i+1:]
	}
	return ""
}
