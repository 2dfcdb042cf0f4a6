package report

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
)

// raceLines is how many lines a race may have.
const raceLines = 4

// beat is something that happened in a race, in a few words.
type beat struct {
	at     time.Duration
	last   time.Duration // when the last of it happened
	client string        // who did it; empty: nobody
	text   string
	times  int // how often in a row
}

func (b beat) String() string {
	if b.times > 1 {
		return fmt.Sprintf("%s %d times", b.text, b.times)
	}
	return b.text
}

// Race is race for what is printed elsewhere.
func Race(cell record.Cell, events []history.Event, width int) []string {
	return race(cell, events, width)
}

// race shows how a cell came to its worst anomaly, in a few lines.
func race(cell record.Cell, events []history.Event, width int) []string {
	if len(cell.Verdict.Anomalies) == 0 || len(events) == 0 {
		return nil
	}
	worst := slices.MinFunc(cell.Verdict.Anomalies, func(a, b checker.Anomaly) int {
		return cmp.Or(gravity(a.Name)-gravity(b.Name), cmp.Compare(a.At, b.At))
	})
	beats := newChart(events).beats(worst)
	for len(beats) > raceLines {
		beats = mergeTwo(beats, width-len("   0.000s  ; "))
	}
	var lines []string
	for _, b := range beats {
		lines = append(lines, clip(fmt.Sprintf("%8.3fs  %s", (b.at-events[0].At).Seconds(), clean(b.String())), width))
	}
	return lines
}

// gravity ranks anomalies by what they mean to a user: what was lost comes before how.
func gravity(name checker.Name) int {
	order := []checker.Name{checker.LostUpdate, checker.DoubleHolder, checker.StuckLock, checker.StaleWrite}
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// beats are what matters of a history up to an anomaly: grants, work and releases of its clients, faults, and leases that ended.
func (t *chart) beats(a checker.Anomaly) []beat {
	var beats []beat
	add := func(b beat) {
		if last := len(beats) - 1; last >= 0 && beats[last].text == b.text && b.client != "" {
			beats[last].times++
			beats[last].last = b.at
			return
		}
		b.times, b.last = 1, b.at
		beats = append(beats, b)
	}
	moments := t.moments
	lockServers := slices.DeleteFunc(slices.Clone(t.servers), func(server string) bool { return server == history.Resource })
	several := len(lockServers) > 1
	for i, e := range t.events {
		for len(moments) > 0 && moments[0].Pos < float64(i) {
			if moments[0].At <= a.At && slices.Contains(t.servers, moments[0].Lane) {
				text := "the lease ends"
				if several {
					text += " on " + moments[0].Lane
				}
				add(beat{at: moments[0].At, text: text})
			}
			moments = moments[1:]
		}
		if e.At > a.At {
			break
		}
		if text := t.beat(e, a); text != "" {
			add(beat{at: e.At, client: t.laneOf(e), text: text})
		}
	}
	return beats
}

// beat is an event in a few words; empty if it does not matter in a race.
func (t *chart) beat(e history.Event, a checker.Anomaly) string {
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
func mergeTwo(beats []beat, room int) []beat {
	best, least := 0, time.Duration(math.MaxInt64)
	for i := range len(beats) - 1 {
		fits := len([]rune(beats[i].String()+beats[i+1].String())) <= room
		if gap := beats[i+1].at - beats[i].last; fits && gap < least {
			best, least = i, gap
		}
	}
	first, second := beats[best], beats[best+1]
	text := second.String()
	if first.client != "" && first.client == second.client {
		text = strings.TrimPrefix(strings.TrimPrefix(text, second.client+": "), second.client+" ")
	}
	merged := beat{at: first.at, last: second.last, client: second.client, text: first.String() + "; " + text, times: 1}
	return slices.Replace(beats, best, best+2, merged)
}
