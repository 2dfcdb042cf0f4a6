package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// defaultTimeout bounds a window where the options do not.
const defaultTimeout = 10 * time.Second

// maxPerName is Options.MaxPerName where the options do not say.
const maxPerName = 16

// Options bound a judgement.
type Options struct {
	// Timeout bounds the second judge's work on one window of the history, of some hundred operations; zero means ten seconds.
	Timeout time.Duration
	// MaxPerName bounds how many anomalies of one name a verdict lists for one lock; zero means 16: the first ones suffice to understand it.
	MaxPerName int
	// Twice has porcupine judge everything by a model of its own. Otherwise it judges only where calls overlap (holds, fencing tokens, data), and what is
	// legal in the order in which it is listed needs no search.
	Twice bool
}

// Judge judges a whole history. It does not change events, and may be called concurrently.
//
// The monitors decide. Porcupine judges a second time what overlapping calls may have done, and everything if opts say so; if it does
// not agree, the verdict is unknown and the checker itself at fault. If it ran out of time, the verdict is unknown unless the monitors
// saw something.
func Judge(events []history.Event, opts Options) Verdict { return judge(events, opts, newPremises()) }

// judge is Judge, and reads the premises on the way.
func judge(events []history.Event, opts Options, p *premises) Verdict {
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.MaxPerName <= 0 {
		opts.MaxPerName = maxPerName
	}
	if i := firstOutOfOrder(events); i >= 0 {
		return undecided(fmt.Sprintf("event %d is earlier than the one before it", i))
	}
	second := beside(len(events) > shortHistory, func() overlap.Opinion { return secondOpinion(events, opts) })
	anomalies, malformed := observe(events, opts.MaxPerName, p)
	verdict := decide(anomalies, second())
	if malformed != "" {
		return undecided(malformed)
	}
	return verdict
}

// shortHistory is how many events a history has whose judges take turns: to start a goroutine for the second would take longer.
const shortHistory = 256

// beside does something on a goroutine of its own, or else when its result is asked for.
func beside(concurrently bool, do func() overlap.Opinion) (done func() overlap.Opinion) {
	if !concurrently {
		return do
	}
	result := make(chan overlap.Opinion, 1)
	go func() { result <- do() }()
	return func() overlap.Opinion { return <-result }
}

func firstOutOfOrder(events []history.Event) int {
	for i := 1; i < len(events); i++ {
		if events[i].At < events[i-1].At {
			return i
		}
	}
	return -1
}

// observe folds the monitors, and the premises, over a history. It also says what makes no sense in it, or "".
func observe(events []history.Event, most int, p *premises) (anomalies []Anomaly, malformed string) {
	found := findings{most: most}
	all := monitors()
	p.read(events, func(f *timeline.Fact) {
		for _, m := range all {
			found.add(m.step(f, p.v), p.v)
		}
	})
	slices.SortStableFunc(found.list, func(a, b Anomaly) int { return int(a.At - b.At) })
	for i := range found.list {
		found.list[i].Command = commandOf(found.list[i], events)
	}
	return found.list, p.v.Malformed
}

// commandOf is the word for the command that made an anomaly: the last one of its first client that shows it.
func commandOf(a Anomaly, events []history.Event) string {
	if !slices.Contains([]Name{EarlyGrant, WrongfulDelete, WrongfulRenew, Overwrite, GhostLock}, a.Name) {
		return ""
	}
	for _, i := range slices.Backward(a.Events) {
		if e := events[i]; e.Kind == history.KindCommand && e.Client == a.Clients[0] {
			return word(e.Command())
		}
	}
	return ""
}

// findings collects anomalies, at most so many of one name.
type findings struct {
	most   int
	list   []Anomaly
	counts map[overlap.Finding]int
}

func (f *findings) add(anomalies []Anomaly, v *timeline.Cursor) {
	if len(anomalies) == 0 {
		return
	}
	if f.counts == nil {
		f.counts = make(map[overlap.Finding]int)
	}
	for _, a := range anomalies {
		what := overlap.Finding{Name: string(a.Name), Lock: a.Lock}
		if !a.Name.ofSeveral() && v.Locks[v.LockNames.Find(a.Lock)].Permits > 1 {
			continue
		}
		if f.counts[what]++; f.counts[what] <= f.most {
			f.list = append(f.list, a)
		}
	}
}

// decide compares the judges and words the verdict.
func decide(anomalies []Anomaly, second overlap.Opinion) Verdict {
	if reason := disagreement(anomalies, second); reason != "" {
		return Verdict{Kind: Undecided, CheckerFault: true, Reason: reason}
	}
	switch {
	case len(anomalies) > 0:
		return Verdict{Kind: Broken, Anomalies: anomalies}
	case len(second.TimedOut) > 0:
		what := second.TimedOut[0]
		return undecided(fmt.Sprintf("porcupine ran out of time looking for %s of %s", what.Name, what.Lock))
	}
	return Verdict{Kind: Safe}
}

// disagreement says where the judges differ, or "" where they do not.
func disagreement(anomalies []Anomaly, second overlap.Opinion) string {
	first := make(map[overlap.Finding]bool)
	for _, a := range anomalies {
		what := overlap.Finding{Name: string(a.Name), Lock: a.Lock}
		if slices.Contains(second.Judged, what.Name) && !slices.Contains(second.Unjudged, what) {
			first[what] = true
		}
	}
	for _, what := range second.Illegal {
		if !first[what] {
			return fmt.Sprintf("the judges disagree on %s: porcupine finds the history of %s illegal, the %s monitor saw nothing",
				what.Name, what.Lock, what.Name)
		}
	}
	for _, a := range anomalies {
		what := overlap.Finding{Name: string(a.Name), Lock: a.Lock}
		if first[what] && !slices.Contains(second.Illegal, what) && !slices.Contains(second.TimedOut, what) {
			return fmt.Sprintf("the judges disagree on %s: the %s monitor finds the history of %s illegal, porcupine finds it legal",
				what.Name, what.Name, what.Lock)
		}
	}
	return ""
}
