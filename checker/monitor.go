package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// monitor defines one anomaly, or two that are two sides of one thing. It is folded over a history.
//
// Its state is small and holds values only, nothing that points into the history.
type monitor interface {
	// step takes in one event and reports what it proves. f and v are only read, and not kept.
	step(f *timeline.Fact, v *timeline.Cursor) []Anomaly
}

// monitors are the definitions of all anomalies.
func monitors() []monitor {
	return []monitor{
		&doubleHolder{}, &interference{}, &staleWrite{}, &lostUpdate{}, &stuckLock{}, &ghostLock{}, &unreleasable{}, &overcount{}, &hungOperation{},
		&missedWakeup{}, &falseAlarm{}, &fences{}, &unfair{}, deadGrant{},
	}
}

// seconds words a time of a run.
func seconds(at time.Duration) string { return fmt.Sprintf("%.3fs", at.Seconds()) }

// word is what people call a command.
func word(c *history.Command) string {
	if c == nil || len(c.Args) == 0 {
		return "command"
	}
	switch name := strings.ToUpper(c.Args[0]); name {
	case "EVAL":
		return "script (EVAL)"
	case "EVALSHA":
		return "script (EVALSHA)"
	case "FCALL":
		return "script (FCALL)"
	default:
		return name
	}
}

// commandWord is the word for the command of a fact that is known to be one.
func commandWord(f *timeline.Fact) string { return word(f.Sent) }

// inOrder sorts event indexes and drops repeated ones.
func inOrder(events ...int) []int {
	slices.Sort(events)
	return slices.Compact(events)
}
