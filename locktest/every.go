package locktest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
)

// every searches all schedules: first those without a fault, then those with one, and so on.
func (x *exploration) every() {
	chance, giveBack := takeChance()
	defer giveBack()
	began, bounds := time.Now(), x.search.Every
	for faults := 0; faults <= bounds.Faults; {
		l := &level{exploration: x, chance: chance, ends: began.Add(bounds.For)}
		l.within.Faults = faults
		l.world = bubbleWorld{x.t, x.suite, sim.OpenBubble(sim.Config{CellTimeout: cellTimeout}, x.subject.library())}
		if again := l.search(); again {
			continue
		}
		x.found.Every = append(x.found.Every, l.within)
		if !l.within.Complete {
			break
		}
		faults++
	}
}

// level searches all schedules with at most so many faults.
type level struct {
	*exploration
	chance *chance
	world  bubbleWorld
	ends   time.Time
	within Within
	sample int // schedules played twice
}

// sampleOf is one in how many schedules is played twice, after the first few.
const sampleOf, sampleFirst = 100, 5

// search searches. It has to be begun again if the lock has drawn random numbers which could have been under control.
func (l *level) search() (again bool) {
	all := &sim.Every{Faults: l.within.Faults, Chance: l.chance.seed}
	for more := true; more; more = all.Next() {
		if l.within.Played > 0 && (time.Now().After(l.ends) || len(l.shown) > 0 && time.Now().After(l.until)) {
			l.within.Why = "the time was over"
			return false
		}
		played, commands, err := l.play(all)
		if err != nil {
			l.fail(fmt.Errorf("schedule %s: the lab failed: %w", l.way(all), err))
			return false
		}
		if l.chance.firstDrawn() {
			return true
		}
		l.judge(all, played, commands)
		if l.within.Why = l.differs(all, played); l.within.Why != "" {
			return false
		}
	}
	l.within.Schedules = all.Total()
	if n := all.Endless(); n > 0 {
		l.within.Why = fmt.Sprintf("%d schedules have no end: the lock tries again without a pause", n)
		return false
	}
	l.within.Complete = true
	return false
}

func (l *level) play(all *sim.Every) (play.Played, int, error) {
	return l.world.explore(l.lock, sim.Search{Clients: l.exploration.search.Clients, Turns: l.exploration.search.Every.Turns, Lease: l.exploration.search.Lease, Every: all})
}

func (l *level) judge(all *sim.Every, played play.Played, commands int) {
	verdict, against := l.judgeSchedule(played)
	l.within.Played++
	l.found.Commands += commands
	if verdict.Kind == checker.Undecided {
		if all.Merged() {
			l.within.Merged++
		} else {
			l.within.Unknown++
		}
	}
	if len(against) > 0 {
		if len(l.shown) == 0 {
			l.until = time.Now().Add(goOn)
		}
		l.shown = append(l.shown, &schedule{way: l.way(all), played: played, against: against})
	}
}

func (l *level) way(all *sim.Every) string { return fmt.Sprint(l.within.Faults, all.Way()) }

// differs says in what a schedule differs when it is played again, if it is one of the sample.
func (l *level) differs(all *sim.Every, played play.Played) string {
	if what := all.Diverged(); what != "" {
		return "schedules do not replay: " + what
	}
	if l.within.Played > sampleFirst && l.within.Played < (l.sample-sampleFirst+1)*sampleOf || all.Merged() {
		return ""
	}
	l.sample++
	twin := all.Replay(all.Way())
	again, _, err := l.play(twin)
	if err != nil {
		return err.Error()
	}
	if a, b := all.Renamed(text(played)), twin.Renamed(text(again)); !bytes.Equal(a, b) {
		return "schedules do not replay: " + firstDifference(a, b)
	}
	return ""
}

// text is a history as it is written.
func text(played play.Played) []byte {
	var b bytes.Buffer
	w, err := history.NewWriter(&b, played.Header)
	for _, e := range played.Events {
		if err == nil {
			err = w.Write(e)
		}
	}
	return b.Bytes()
}

func firstDifference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("event %d was %s, and then %s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d events, and then %d", len(x), len(y))
}
