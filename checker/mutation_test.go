package checker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/timeline"
)

// mutation is a mistake in one of the judges: it does not see an anomaly, or reads something of a history in another way.
type mutation struct {
	name   string
	blind  Name                 // the judge sees none of these
	accuse Name                 // or sees one in every history
	edit   func(*history.Event) // or takes events for others
	facts  func(*timeline.Fact) // of the monitors: or works with other facts
	second bool                 // it is porcupine's mistake
	must   bool                 // the other judge must notice it, and not only a story
}

// edits are other ways of reading a history.
var edits = map[string]func(*history.Event){
	"a validity is 1.9s longer":            func(e *history.Event) { e.Valid = longer(e.Valid, 1900*ms) },
	"a validity is half as long":           func(e *history.Event) { e.Valid = longer(e.Valid, -e.Valid/2) },
	"a validity is not limited":            func(e *history.Event) { e.Valid = 0 },
	"a lease is ten times as long":         func(e *history.Event) { leases(e, func(d time.Duration) time.Duration { return 10 * d }) },
	"a lease is half as long":              func(e *history.Event) { leases(e, func(d time.Duration) time.Duration { return d / 2 }) },
	"no reply is heard":                    commands(func(c *history.Command) { c.ReplyDropped = true }),
	"a removal changes nothing":            changes(history.EffectRemoved, func(c *history.Change) { c.After = c.Before }),
	"a removal is an expiry":               changes(history.EffectRemoved, func(c *history.Change) { c.Before = history.State{} }),
	"another value changes nothing":        changes(history.EffectReplaced, func(c *history.Change) { c.After = c.Before }),
	"a renewal changes nothing":            changes(history.EffectProlonged, func(c *history.Change) { c.After.TTL = c.Before.TTL }),
	"a lock taken is not there":            changes(history.EffectCreated, func(c *history.Change) { c.After = history.State{} }),
	"an exit ends nothing":                 asSteps(history.KindExit, history.OpNone),
	"a notice of loss ends nothing":        asSteps(history.KindLost, history.OpNone),
	"a validity declared meanwhile is not": asSteps(history.KindValid, history.OpNone),
	"a release ends nothing":               asSteps(history.KindCall, history.OpRelease),
	"no is ok":                             outcomes(history.No, history.OK),
	"unknown is ok":                        outcomes(history.Unknown, history.OK),
	"unknown is no":                        outcomes(history.Unknown, history.No),
	"ok is unknown":                        outcomes(history.OK, history.Unknown),
	"who gives up does not":                details(func(d *history.Detail) { d.GaveUp = false }),
	"no lock can be taken again":           details(func(d *history.Detail) { d.Reentrant = false }),
	"every fencing token is the first":     func(e *history.Event) { e.Fence = min(e.Fence, 1) },
	"what was read is one more":            reads(1),
	"the end is one more":                  details(func(d *history.Detail) { d.Value++ }),
	"nothing is written":                   onResource(func(c *history.Command) { c.Reply = "" }),
	"what is written late is not":          onResource(func(c *history.Command) { c.Reply = unless(c.Late, c.Reply) }),
	"commands have no states":              commands(func(c *history.Command) { c.Changes = nil }),
	"a check is another's question":        asSteps(history.KindCall, history.OpCheck),
	"an answer to a renewal is none":       asSteps(history.KindReturn, history.OpRenew),
	"an answer to a release is none":       asSteps(history.KindReturn, history.OpRelease),
	"a lock has no lease where it has one": details(func(d *history.Detail) { d.Leaseless = true }),
	"every lock is on one server":          details(func(d *history.Detail) { d.Servers = 0 }),
	"a majority takes a server more":       details(func(d *history.Detail) { d.Servers += 2 * min(d.Servers, 1) }),
	"a majority is enough for every lock":  details(func(d *history.Detail) { d.Need = 0 }),
	"every lock needs all its servers":     details(func(d *history.Detail) { d.Need = d.Servers }),
	"no fault happens":                     func(e *history.Event) { faultsAre(e, "") },
	"every fault is the server's":          func(e *history.Event) { faultsAre(e, string(faults.Restart)) },
	"nobody waits for long":                details(func(d *history.Detail) { d.Bound *= 4 }),
	"no lock promises order":               details(func(d *history.Detail) { d.Fair = false }),
	"every clock runs right":               runsRight,
	"no is what every check is answered":   toAll(history.OpCheck, history.No),
	"ok is what every release is answered": toAll(history.OpRelease, history.OK),
}

// factsOf are other rules for the monitors: whose claim must be respected, and what was there.
var factsOf = map[string]func(*timeline.Fact){
	"every claim must be respected":          func(f *timeline.Fact) { f.Live = f.Owner.Client != 0 },
	"no claim must be respected":             func(f *timeline.Fact) { f.Live = false },
	"claims of the dead need no respect":     func(f *timeline.Fact) { f.Live = f.Live && !f.Owner.Dead },
	"claims not yet granted need no respect": func(f *timeline.Fact) { f.Live = f.Live && f.Owner.Standing != timeline.Pending },
	"what is there is always the owner's":    func(f *timeline.Fact) { f.Foreign = false },
	"every command is an acquire's":          func(f *timeline.Fact) { f.Mine.Standing = timeline.Pending },
	"no write is a write":                    func(f *timeline.Fact) { f.Wrote = false },
	"every release is the last":              func(f *timeline.Fact) { f.Op.Inner = false },
	"a hold begins never":                    func(f *timeline.Fact) { f.Began = false },
	"no server loses a part of a lock":       func(f *timeline.Fact) { f.Removed = timeline.Part{} },
	"grants are in the order of the answers": func(f *timeline.Fact) { f.Op.Took = 0 },
}

func longer(valid, by time.Duration) time.Duration {
	if valid <= history.ValidityExpired {
		return valid
	}
	return valid + by
}

func leases(e *history.Event, change func(time.Duration) time.Duration) {
	if e.Detail != nil {
		e.Detail.Lease = change(e.Detail.Lease)
	}
	if c := e.Command(); c != nil {
		for n := range c.Changes {
			c.Changes[n].After.TTL = change(c.Changes[n].After.TTL)
			c.Changes[n].Before.TTL = change(c.Changes[n].Before.TTL)
		}
	}
}

func details(change func(*history.Detail)) func(*history.Event) {
	return func(e *history.Event) {
		if e.Detail != nil {
			change(e.Detail)
		}
	}
}

func commands(change func(*history.Command)) func(*history.Event) {
	return func(e *history.Event) {
		if c := e.Command(); c != nil && c.Server != history.Resource {
			change(c)
		}
	}
}

func onResource(change func(*history.Command)) func(*history.Event) {
	return func(e *history.Event) {
		if c := e.Command(); c != nil && c.Server == history.Resource {
			change(c)
		}
	}
}

func changes(effect history.Effect, change func(*history.Change)) func(*history.Event) {
	return commands(func(c *history.Command) {
		for n := range c.Changes {
			if c.Changes[n].Effect(c.Asked) == effect {
				change(&c.Changes[n])
			}
		}
	})
}

// asSteps takes events of a kind, and of an operation, for lines of the script.
func asSteps(kind history.Kind, op history.Op) func(*history.Event) {
	return func(e *history.Event) {
		if e.Kind == kind && e.Op == op {
			e.Kind = history.KindStep
		}
	}
}

func outcomes(from, to history.Outcome) func(*history.Event) {
	return func(e *history.Event) {
		if e.Outcome == from {
			e.Outcome = to
		}
	}
}

// faultsAre has faults be of another kind, or be none.
func faultsAre(e *history.Event, kind string) {
	f := e.Fault()
	switch {
	case f == nil:
	case kind == "":
		e.Kind, e.Detail = history.KindStep, nil
	default:
		f.Name = kind
	}
}

// runsRight has clocks that are set run at the right rate.
func runsRight(e *history.Event) {
	if f := e.Fault(); f != nil {
		f.What, _, _ = strings.Cut(f.What, "rate")
	}
}

// toAll gives all operations of a kind one answer.
func toAll(op history.Op, outcome history.Outcome) func(*history.Event) {
	return func(e *history.Event) {
		if e.Kind == history.KindReturn && e.Op == op {
			e.Outcome = outcome
		}
	}
}

func reads(by int64) func(*history.Event) {
	return func(e *history.Event) {
		if e.Detail != nil && e.Op == history.OpWork {
			e.Detail.Read += by
			e.Detail.Wrote += by
		}
	}
}

func unless(not bool, text string) string {
	if not {
		return ""
	}
	return text
}

// mutations are all mistakes.
func mutations() []mutation {
	var all []mutation
	for _, d := range Definitions() {
		for _, second := range []bool{false, true} {
			all = append(all,
				mutation{name: "sees no " + string(d.Name), blind: d.Name, second: second, must: true},
				mutation{name: "sees " + string(d.Name) + " everywhere", accuse: d.Name, second: second, must: true})
		}
	}
	for name, edit := range edits {
		all = append(all, mutation{name: name, edit: edit}, mutation{name: name, edit: edit, second: true})
	}
	for name, facts := range factsOf {
		all = append(all, mutation{name: name, facts: facts})
	}
	slices.SortFunc(all, func(a, b mutation) int {
		return strings.Compare(fmt.Sprint(a.second, a.name), fmt.Sprint(b.second, b.name))
	})
	return all
}

// told is a history with what the judges say of it.
type told struct {
	name   string // of a story; empty: it is a seeded one
	events []history.Event
	first  []Anomaly
	second overlap.Opinion
}

func tell(name string, events []history.Event) told {
	first, _ := observe(events, maxPerName, newPremises())
	return told{name, events, first, secondOpinion(events, Options{Timeout: time.Minute, Twice: true})}
}

func namesOf(anomalies []Anomaly) []Name { return Verdict{Anomalies: anomalies}.Names() }

// notices says who notices a mistake in a history: the other judge, or whoever knows the story.
func (h told) notices(m mutation) (judge, story bool) {
	events := h.events
	if m.edit != nil {
		events = copied(events)
		for i := range events {
			m.edit(&events[i])
		}
	}
	first, second := h.first, h.second
	switch {
	case m.second && m.edit != nil:
		second = secondOpinion(events, Options{Timeout: time.Minute, Twice: true})
	case m.second && m.blind != "":
		second.Illegal = slices.DeleteFunc(slices.Clone(second.Illegal), func(f overlap.Finding) bool { return f.Name == string(m.blind) })
	case m.second:
		if what := (overlap.Finding{Name: string(m.accuse), Lock: storyLock}); !slices.Contains(second.Unjudged, what) {
			second.Illegal = append(slices.Clone(second.Illegal), what)
		}
	case m.blind != "":
		first = slices.DeleteFunc(slices.Clone(first), func(a Anomaly) bool { return a.Name == m.blind })
	case m.accuse != "":
		first = append(slices.Clone(first), Anomaly{Name: m.accuse, Lock: storyLock})
	default:
		first = observedBy(mistaken(m.facts), events)
	}
	judge = disagreement(first, second) != ""
	return judge, h.name != "" && !m.second && !slices.Equal(namesOf(first), namesOf(h.first))
}

// mistaken are the monitors with other facts; facts may be nil.
func mistaken(facts func(*timeline.Fact)) []monitor {
	all := monitors()
	if facts == nil {
		return all
	}
	for n := range all {
		all[n] = otherFacts{all[n], facts}
	}
	return all
}

type otherFacts struct {
	monitor
	change func(*timeline.Fact)
}

func (o otherFacts) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	other := *f
	o.change(&other)
	return o.monitor.step(&other, v)
}

func observedBy(all []monitor, events []history.Event) []Anomaly {
	found := findings{most: maxPerName}
	v := timeline.NewCursor()
	for i := range events {
		v.Step(i, &events[i], func(f *timeline.Fact) {
			for _, m := range all {
				found.add(m.step(f, v), v)
			}
		})
	}
	return found.list
}

// tellings are the stories, and seeded histories: legal ones, and some with each violation.
func tellings(t *testing.T) []told {
	t.Helper()
	var all []told
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(t, err)
		all = append(all, tell(strings.TrimSuffix(filepath.Base(path), ".txt"), events))
	}
	for seed := range uint64(40) {
		all = append(all, tell("", legalSeeded(seed).events))
		for _, v := range violations {
			if s, _, _ := violated(seed, v); s != nil {
				all = append(all, tell("", s.events))
			}
		}
	}
	return all
}

// TestMutations makes mistakes in the judges, one at a time. Each must be noticed: by the other judge, or by a story. The table says by whom.
func TestMutations(t *testing.T) {
	needs.Long(t, "a hundred mistakes in the judges")
	all := tellings(t)
	for _, h := range all {
		require.Empty(t, disagreement(h.first, h.second))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-10s %-52s %-12s %s\n", "judge", "mistake", "other judge", "stories")
	for _, m := range mutations() {
		var judges, stories int
		for _, h := range all {
			judge, story := h.notices(m)
			if judge {
				judges++
			}
			if story {
				stories++
			}
		}
		assert.NotZero(t, judges+stories, "nobody notices that %s (second judge: %t)", m.name, m.second)
		if m.must {
			assert.NotZero(t, judges, "the other judge does not notice that one %s (second judge: %t)", m.name, m.second)
		}
		who := "monitors"
		if m.second {
			who = "porcupine"
		}
		fmt.Fprintf(&table, "%-10s %-52s %-12s %s\n", who, m.name, yes(judges), yes(stories))
	}
	if *rewrite {
		require.NoError(t, os.WriteFile("testdata/mutations.golden", []byte(table.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/mutations.golden")
	require.NoError(t, err)
	assert.Equal(t, string(want), table.String(), "run go test ./checker -run TestMutations -update if this is meant")
}

func yes(n int) string {
	if n == 0 {
		return "-"
	}
	return "notices"
}
