package diagram

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
)

// raceLines is how many lines a race may have.
const raceLines = 4

// Beat is something that happened in a race, in a few words.
type Beat struct {
	At     time.Duration
	Last   time.Duration // when the last of it happened
	Client string        // who did it; empty: nobody
	Text   string
	Times  int // how often in a row
}

func (b Beat) String() string {
	if b.Times > 1 {
		return fmt.Sprintf("%s %d times", b.Text, b.Times)
	}
	return b.Text
}

// Beats is how a cell came to its worst anomaly.
func Beats(cell record.Cell, events []history.Event) []Beat {
	if len(cell.Verdict.Anomalies) == 0 || len(events) == 0 {
		return nil
	}
	worst := slices.MinFunc(cell.Verdict.Anomalies, func(a, b checker.Anomaly) int {
		return cmp.Or(outcome.Gravity(a.Name)-outcome.Gravity(b.Name), cmp.Compare(a.At, b.At))
	})
	return Of(events).beats(worst)
}

// Race is Beats in a few lines.
func Race(cell record.Cell, events []history.Event, width int) []string {
	beats := Beats(cell, events)
	for len(beats) > raceLines {
		beats = mergeTwo(beats, width-len("   0.000s  ; "))
	}
	var lines []string
	for _, b := range beats {
		lines = append(lines, format.Clip(fmt.Sprintf("%8.3fs  %s", (b.At-events[0].At).Seconds(), format.Clean(b.String())), width))
	}
	return lines
}

// beats are what matters of a history up to an anomaly: grants, work and releases of its clients, faults, and leases that ended.
func (t *Chart) beats(a checker.Anomaly) []Beat {
	var beats []Beat
	add := func(b Beat) {
		if last := len(beats) - 1; last >= 0 && beats[last].Text == b.Text && b.Client != "" {
			beats[last].Times++
			beats[last].Last = b.At
			return
		}
		b.Times, b.Last = 1, b.At
		beats = append(beats, b)
	}
	moments := t.moments
	lockServers := slices.DeleteFunc(slices.Clone(t.servers), func(server string) bool { return server == history.Resource })
	several := len(lockServers) > 1
	for i, e := range t.Events {
		for len(moments) > 0 && moments[0].Pos < float64(i) {
			if moments[0].At <= a.At && slices.Contains(t.servers, moments[0].Lane) {
				text := "the lease ends"
				if several {
					text += " on " + moments[0].Lane
				}
				add(Beat{At: moments[0].At, Text: text})
			}
			moments = moments[1:]
		}
		if e.At > a.At {
			break
		}
		if text := t.beat(e, a); text != "" {
			add(Beat{At: e.At, Client: t.laneOf(e), Text: text})
		}
	}
	return beats
}

// beat is an event in a few words; empty if it does not matter in a race.
func (t *Chart) beat(e history.Event, a checker.Anomaly) string {
	who := t.laneOf(e)
	switch f := e.Fault(); {
	case f != nil && faults.Kind(f.Name) != faults.Stall:
		return faultBeat(who, f)
	case !slices.Contains(a.Clients, e.Client) || e.Kind != history.KindReturn || e.Outcome != history.OK:
		return ""
	}
	switch e.Op {
	case history.OpAcquire:
		return who + " acquires the lock"
	case history.OpWork:
		return who + " writes"
	case history.OpRelease:
		return who + " releases it"
	}
	return ""
}

func faultBeat(who string, f *history.Fault) string {
	kind := faults.Kind(f.Name)
	switch {
	case kind.Holds() && f.Phase == history.PhaseEffective:
		return fmt.Sprintf("%s: %s (%s)", who, faultWord(f.Name), briefly(f.What))
	case f.Phase == history.PhaseEffective:
		return fmt.Sprintf("%s: %s", who, faultWord(f.Name))
	case f.Phase == history.PhaseRecover && kind == faults.Pause:
		return who + " resumes"
	case f.Phase == history.PhaseRecover && !kind.Holds():
		return fmt.Sprintf("%s: no longer %s", who, faultWord(f.Name))
	}
	return ""
}

// mergeTwo joins the two neighbours that are closest in time, of those that fit on a line.
func mergeTwo(beats []Beat, room int) []Beat {
	best, least := 0, time.Duration(math.MaxInt64)
	for i := range len(beats) - 1 {
		fits := len([]rune(beats[i].String()+beats[i+1].String())) <= room
		if gap := beats[i+1].At - beats[i].Last; fits && gap < least {
			best, least = i, gap
		}
	}
	first, second := beats[best], beats[best+1]
	text := second.String()
	if first.Client != "" && first.Client == second.Client {
		text = strings.TrimPrefix(strings.TrimPrefix(text, second.Client+": "), second.Client+" ")
	}
	merged := Beat{At: first.At, Last: second.Last, Client: second.Client, Text: first.String() + "; " + text, Times: 1}
	return slices.Replace(beats, best, best+2, merged)
}
