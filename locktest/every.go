package locktest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
)

// every searches all schedules: first those without a fault, then those with one, and so on; or plays one of them.
func (x *exploration) every(way string) {
	chance, giveBack := takeChance()
	defer giveBack()
	l := &level{x: x, chance: chance, ends: time.Now().Add(x.search.Every.For)}
	l.world = bubbleWorld{x.t, x.suite, sim.OpenBubble(sim.Config{CellTimeout: cellTimeout}, x.subject.library())}
	defer func() { x.cutOff = x.cutOff || !l.returned }()
	if way != "" {
		x.found.Every = []Within{l.replay(way)}
	} else {
		x.found.Every = l.all()
	}
	l.returned = true
}

// all searches them.
func (l *level) all() (levels []Within) {
	for faults := 0; faults <= l.bounds().Faults; faults++ {
		for again := true; again; {
			l.within, l.sample = Within{Faults: faults}, 0
			again = l.search()
		}
		if levels = append(levels, l.within); !l.within.Complete {
			break
		}
	}
	return levels
}

// replay plays one of them.
func (l *level) replay(way string) Within {
	faults, steps, err := readWay(way)
	if err != nil {
		l.x.t.Fatalf("locktest: %s=%s is no schedule: %v", wayVariable, way, err)
	}
	l.within.Faults = faults
	one := (&sim.Every{Faults: faults, Chance: l.chance.seed}).Replay(steps)
	for again := true; again; again = l.chance.firstDrawn() {
		if l.played, l.commands, err = l.play(one); err != nil {
			l.x.t.Fatalf("locktest: the lab failed: %v", err)
		}
	}
	l.judge(one)
	l.within.Why = "one was played again"
	if what := one.Diverged(); what != "" {
		l.within.Why = "it does not replay: " + what
	}
	return l.within
}

// readWay reads what way writes: the number of faults, and which way is gone at each point.
func readWay(text string) (faults int, way []int, err error) {
	number, rest, _ := strings.Cut(text, ":")
	if faults, err = strconv.Atoi(number); err != nil {
		return 0, nil, err
	}
	for _, at := range strings.FieldsFunc(rest, func(r rune) bool { return r == '.' }) {
		n, err := strconv.ParseUint(at, 10, 16)
		if err != nil {
			return 0, nil, err
		}
		way = append(way, int(n))
	}
	return faults, way, nil
}

// level searches all schedules with at most so many faults.
type level struct {
	x        *exploration // that it is a part of
	chance   *chance
	world    bubbleWorld
	ends     time.Time
	within   Within
	sample   int  // schedules played twice
	returned bool // no bubble has failed by itself

	played   play.Played // the last schedule
	commands int
}

// A sample of the schedules is played twice: the first few, and one of so many of the others.
const sampleFirst, sampleOf = 5, 100

func (l *level) bounds() *Every { return l.x.search.Every }

// search searches. It has to be begun again if the lock has drawn random numbers that can be had under control.
func (l *level) search() (again bool) {
	all := &sim.Every{Faults: l.within.Faults, Chance: l.chance.seed}
	for more := true; more; more = all.Next() {
		if now := time.Now(); l.within.Played > 0 && (now.After(l.ends) || len(l.x.shown) > 0 && now.After(l.x.until)) {
			l.within.Why = "the time was over"
			return false
		}
		var err error
		if l.played, l.commands, err = l.play(all); err != nil {
			l.within.Why = "the lab failed"
			l.x.fail(fmt.Errorf("schedule %s: the lab failed: %w", l.way(all), err))
			return false
		}
		if l.chance.firstDrawn() {
			return true
		}
		l.judge(all)
		if l.within.Why = l.differs(all); l.within.Why != "" {
			return false
		}
		if len(l.x.shown) > 0 && len(l.x.search.Expect) > 0 {
			l.within.Why = "what was expected was found"
			return false
		}
	}
	l.within.Schedules, l.within.drawn = all.Total(), l.chance.drawn
	if n := all.Endless(); n > 0 {
		l.within.Why = fmt.Sprintf("%d schedules have no end: the lock tries again without a pause", n)
	}
	l.within.Complete = l.within.Why == ""
	return false
}

func (l *level) play(all *sim.Every) (play.Played, int, error) {
	search := l.x.search
	return l.world.explore(l.x.lock, sim.Search{Clients: search.Clients, Turns: search.Every.Turns, Lease: search.Lease, Every: all})
}

// judge judges the last schedule, and what there is of one that ends where another has been.
func (l *level) judge(all *sim.Every) {
	verdict, against := l.x.judgeSchedule(l.played)
	l.within.Played++
	l.x.found.Commands += l.commands
	switch {
	case verdict.Kind != checker.Undecided:
	case all.Merged():
		l.within.Merged++
	default:
		l.within.Unknown++
	}
	l.x.show(&schedule{way: l.way(all), played: l.played, against: against})
}

// way is what readWay reads.
func (l *level) way(all *sim.Every) string {
	var at []string
	for _, n := range all.Way() {
		at = append(at, strconv.Itoa(n))
	}
	return fmt.Sprintf("%d:%s", l.within.Faults, strings.Join(at, "."))
}

// differs says in what the last schedule differs when it is played again, if it is one of the sample.
func (l *level) differs(all *sim.Every) string {
	if what := all.Diverged(); what != "" {
		return "schedules do not replay: " + what
	}
	if all.Merged() || l.sample >= sampleFirst && l.within.Played < (l.sample-sampleFirst+1)*sampleOf {
		return ""
	}
	l.sample++
	twin := all.Replay(all.Way())
	again, _, err := l.play(twin)
	if err != nil {
		return err.Error()
	}
	a, b := lines(l.played, all), lines(again, twin)
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			was, is := l.played.Events[i], again.Events[i]
			return fmt.Sprintf("schedules do not replay: event %d was %s's %v at %v, and then %s's %v at %v, or another one of its kind; is there chance in it, or a race of goroutines?",
				i+1, was.Client, was.Kind, was.At, is.Client, is.Kind, is.At)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("schedules do not replay: one had %d events, and then %d", len(a), len(b))
	}
	return ""
}

// String says it in a line.
func (w Within) String() string {
	faults := "without a fault"
	switch {
	case w.Faults == 1:
		faults = "with up to one fault"
	case w.Faults > 1:
		faults = fmt.Sprintf("with up to %d faults", w.Faults)
	}
	said := fmt.Sprintf("every schedule %s: %d played (%d unknown", faults, w.Played, w.Unknown)
	if w.Merged > 0 {
		said += fmt.Sprintf(", %d more only until they went on like another one", w.Merged)
	}
	said += ")"
	switch {
	case w.Complete:
		said += fmt.Sprintf(", complete: they stand for all %.0f within these bounds, and a sample replays", w.Schedules)
		if w.drawn {
			said += "; the lock draws random numbers, and these are for one seed of math/rand"
		}
		return said
	case w.Schedules > 0:
		return said + fmt.Sprintf(", not complete: they stand for %.0f, but %s", w.Schedules, w.Why)
	}
	return said + ", not complete: " + w.Why
}

// lines are the events of a history as they are written, with names in the place of tokens.
func lines(played play.Played, by *sim.Every) (lines [][]byte) {
	for _, e := range played.Events {
		var b bytes.Buffer
		w, err := history.NewWriter(&b, history.Header{})
		if err == nil {
			err = w.Write(e)
		}
		if err != nil {
			b.WriteString(err.Error())
		}
		lines = append(lines, by.Renamed(b.Bytes()))
	}
	return lines
}
