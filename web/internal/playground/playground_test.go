package playground_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/explain"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/web/internal/playground"
)

// ask asks a lab, as the page does.
func ask[T any](t *testing.T, l *playground.Lab, q playground.Question) (answer T) {
	t.Helper()
	text, err := json.Marshal(q)
	require.NoError(t, err)
	text = l.Ask(t.Context(), text)
	require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
	return answer
}

// answered is what a test reads of an answer.
type answered struct {
	Error   string
	Wrong   []struct{ Line int }
	Kind    checker.Kind
	Finding string
	Names   []checker.Name
	Made    []string
	Ended   bool
	Limit   string
	States  int
	Choices json.RawMessage
}

func (a answered) choices(t *testing.T) (list []playground.Choice) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.Choices, &list))
	return list
}

func (a answered) ids(t *testing.T) (list []string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.Choices, &list), "%s %s", a.Error, a.Limit)
	return list
}

// The playground says why anomalies and faults happen in the words of lab explain.
func TestReasonsAreThoseOfExplain(t *testing.T) {
	all := ask[struct {
		Faults    []struct{ Kind, Why string }
		Anomalies []struct{ Name, Why string }
	}](t, playground.New(), playground.Question{Do: "catalogue"})
	index, err := explain.New()
	require.NoError(t, err)
	why := func(kind explain.Kind, name string) string {
		e, ok := index.Find(string(kind) + "/" + name)
		require.True(t, ok, name)
		return strings.Join(e.Why, " ")
	}
	require.NotEmpty(t, all.Faults)
	for _, f := range all.Faults {
		assert.NotEmpty(t, f.Why, f.Kind)
		assert.Contains(t, why(explain.Fault, f.Kind), f.Why)
	}
	require.NotEmpty(t, all.Anomalies)
	for _, a := range all.Anomalies {
		assert.NotEmpty(t, a.Why, a.Name)
		assert.Contains(t, why(explain.Anomaly, a.Name), a.Why)
	}
}

// The playground's verdicts are those of lab run --world sim.
func TestVerdictsAreTheCommands(t *testing.T) {
	t.Parallel()
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	locks := impls.Every()
	scripts, locks = scripts[:needs.Count(t, "scenarios", 4, len(scripts))], locks[:needs.Count(t, "locks", 8, len(locks))]
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	cases := lab.Cases(scripts, lab.Subjects(locks...), 1, lab.Expect(matrix))
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{Setting: lab.Setting{World: lab.Sim}}})
	require.NoError(t, err)
	require.Len(t, run.Cells, len(cases))
	l := playground.New()
	for _, cell := range run.Cells {
		text, _ := scenarios.Source(cell.Scenario)
		got := ask[answered](t, l, playground.Question{Do: "play", Lock: cell.Lock, Script: text})
		assert.Empty(t, got.Error)
		assert.Equal(t, cell.Verdict.Kind, got.Kind, "%s in %s", cell.Lock, cell.Scenario)
		assert.Equal(t, cell.Verdict.Names(), got.Names, "%s in %s", cell.Lock, cell.Scenario)
		if cell.Finding != "" {
			assert.Equal(t, cell.Finding, got.Finding, "%s in %s", cell.Lock, cell.Scenario)
		}
	}
}

// breaking is a lock of the table of breaking points, and what breaks it.
type breaking struct {
	setup playground.Setup
	names []checker.Name
}

// found is what searches came to, by their locks: two tests ask for them.
var found sync.Map

// search is the shortest break.
func (b breaking) search(t *testing.T, l *playground.Lab) answered {
	t.Helper()
	if a, known := found.Load(b.setup.Lock); known {
		return a.(answered)
	}
	a := ask[answered](t, l, playground.Question{Do: "search", Setup: b.setup})
	found.Store(b.setup.Lock, a)
	return a
}

// breakings are the locks that break, each with the first faults of the table that break it.
func breakings(t *testing.T) (all []breaking) {
	t.Helper()
	lines, err := points.Reviewed()
	require.NoError(t, err)
	for _, line := range lines {
		lock, _ := impls.Find(line.Lock)
		s := playground.Setup{Lock: line.Lock, Clients: 3, Rounds: 1, Faults: []faults.Kind{}}
		if lock.Servers > 1 {
			s.Clients = 2
		}
		if len(line.None) > 0 {
			all = append(all, breaking{s, line.None[:1]})
			continue
		}
		for _, entry := range faults.All() {
			b := line.Cells[points.Column(entry.Kind)].Any
			if b.Faults == 0 {
				continue
			}
			if s.Faults, s.Most = []faults.Kind{entry.Kind}, b.Faults; b.Twice {
				s.Clients, s.Rounds = 2, 2
			}
			all = append(all, breaking{s, b.Anomalies})
			break
		}
	}
	return all
}

// Each lock of the table reaches its counterexample by the shortest break, which is a way along the buttons.
func TestShortestBreakOfEachLock(t *testing.T) {
	t.Parallel()
	all := breakings(t)
	require.Greater(t, len(all), 20)
	l := playground.New()
	for _, b := range all[:needs.Count(t, "locks", 4, len(all))] {
		found := b.search(t, l)
		for _, name := range b.names {
			assert.Contains(t, found.Names, name, b.setup.Lock)
		}
		way := found.ids(t)
		for n := range way {
			at := ask[answered](t, l, playground.Question{Do: "walk", Setup: b.setup, Choices: way[:n]})
			offered := false
			for _, c := range at.choices(t) {
				assert.NotEmpty(t, c.Label, "%s: %s", b.setup.Lock, c.ID)
				offered = offered || c.ID == way[n]
			}
			assert.True(t, offered, "%s: step %d, %s", b.setup.Lock, n+1, way[n])
		}
		end := ask[answered](t, l, playground.Question{Do: "walk", Setup: b.setup, Choices: way})
		assert.Equal(t, checker.Broken, end.Kind, b.setup.Lock)
		assert.Subset(t, end.Names, b.names, b.setup.Lock)
		assert.NotEmpty(t, end.Finding)
	}
}

// A sound lock has no counterexample within its bounds, and the answer names them.
func TestNoBreakOfASoundLock(t *testing.T) {
	t.Parallel()
	type none struct {
		Choices []string
		Limit   string
		Within  string
		Assumes []string
	}
	got := ask[none](t, playground.New(), playground.Question{Do: "search", Setup: playground.Setup{Lock: "setpx-lua", Clients: 2, Rounds: 1, Faults: []faults.Kind{faults.Crash}, Most: 1}})
	assert.Empty(t, got.Choices)
	assert.Empty(t, got.Limit)
	assert.Equal(t, "2 clients, 1 round, up to 1 fault of crash", got.Within)
	assert.NotEmpty(t, got.Assumes)
}

// Each step says what it is, and what it leads to.
func TestStepsSayWhatTheyLeadTo(t *testing.T) {
	t.Parallel()
	l := playground.New()
	setup := playground.Setup{Lock: "setpx-del", Clients: 2, Rounds: 1, Faults: []faults.Kind{faults.Pause, faults.ReplyLost}, Most: 1}
	for _, test := range []struct {
		made         []string
		label, leads string
	}{
		{nil, "C1: calls acquire", "it sends SET k locked NX PX 1200 next"},
		{[]string{"call.0.0"}, "C1: SET k locked NX PX 1200 → OK", "redis: locked, 1.2s"},
		{[]string{"call.0.0", "serve.0.0"}, "C1: receives OK", "acquire ok; C1 believes that it holds the lock"},
		{[]string{"call.0.0", "serve.0.0"}, "C1: ⚡ reply-lost", "a request is carried out, and its reply is lost; acquire unknown"},
		{[]string{"call.0.0", "serve.0.0", "reply.0.0"}, "C1: ⚡ pause, 1.201s pass", "a client's process is stopped (SIGSTOP) while time passes; the lock on redis is gone"},
	} {
		at := ask[answered](t, l, playground.Question{Do: "walk", Setup: setup, Choices: test.made})
		var found []string
		for _, c := range at.choices(t) {
			found = append(found, c.Label+" → "+c.Leads)
		}
		assert.Contains(t, found, test.label+" → "+test.leads)
	}
}

// Another lock takes the same steps: it sends what it has to send before its client goes on, and leaves out what it does not have.
func TestBesideTakesTheSameSteps(t *testing.T) {
	t.Parallel()
	l := playground.New()
	setup := playground.Setup{Lock: "setpx-del", Clients: 2, Rounds: 1, Faults: []faults.Kind{faults.Pause}, Most: 1}
	way := strings.Fields("call.0.0 serve.0.0 reply.0.0 time.1201.1.0 call.1.0 serve.1.0 reply.1.0 call.0.0 serve.0.0 reply.0.0 serve.0.0 reply.0.0 call.0.0 serve.0.0")
	broken := ask[answered](t, l, playground.Question{Do: "walk", Setup: setup, Choices: way})
	assert.Contains(t, broken.Names, checker.WrongfulDelete)
	repaired := ask[answered](t, l, playground.Question{Do: "beside", Setup: setup, Choices: way, Other: "setpx-lua"})
	assert.NotContains(t, repaired.Names, checker.WrongfulDelete)
	assert.Equal(t, way, repaired.Made)
	longer := ask[answered](t, l, playground.Question{Do: "beside", Setup: setup, Choices: way, Other: "setnx-expire-norepair"})
	assert.Greater(t, len(longer.Made), len(way), "it acquires by two commands")
}

// What cannot be answered is one error, with the lines of the script if it is one of a script.
func TestBadQuestions(t *testing.T) {
	t.Parallel()
	l := playground.New()
	for _, q := range []playground.Question{
		{Do: "dance"}, {Do: "play", Lock: "nobody", Script: "clients C1\n"}, {Do: "walk", Setup: playground.Setup{Lock: "nobody"}},
		{Do: "walk", Setup: playground.Setup{Lock: "setpx-del", Clients: 99}}, {Do: "walk", Setup: playground.Setup{Lock: "setpx-del", Clients: 2}, Choices: []string{"fly"}},
		{Do: "beside", Setup: playground.Setup{Lock: "setpx-del", Clients: 2}, Other: "nobody"}, {Do: "search", Setup: playground.Setup{Lock: "setpx-del", Clients: -1}},
	} {
		assert.NotEmpty(t, ask[answered](t, l, q).Error, "%+v", q)
	}
	wrong := ask[answered](t, l, playground.Question{Do: "play", Lock: "setpx-del", Script: "clients C1\n\nC1 akquire\n"})
	require.NotEmpty(t, wrong.Wrong)
	assert.Equal(t, 3, wrong.Wrong[0].Line)
	var broken answered
	require.NoError(t, json.Unmarshal(l.Ask(t.Context(), []byte("{")), &broken))
	assert.NotEmpty(t, broken.Error)
}

// Whatever is chosen, the walk goes on: each step says what it is and what it leads to, and no two are called the same.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	const steps = 25
	locks := impls.Explored()
	l := playground.New()
	for n, lock := range locks[:needs.Count(t, "locks", 6, len(locks))] {
		dice := rand.New(rand.NewPCG(uint64(n), 46))
		setup := playground.Setup{Lock: lock.Name, Clients: 2, Rounds: 1, Faults: search.FaultsOf(lock), Most: 2}
		var made []string
		for range steps {
			at := ask[answered](t, l, playground.Question{Do: "walk", Setup: setup, Choices: made})
			require.Empty(t, at.Error, "%s after %s", lock.Name, made)
			choices := at.choices(t)
			if len(choices) == 0 {
				break
			}
			called := map[string]bool{}
			for _, c := range choices {
				assert.NotEmpty(t, c.Leads, "%s: %s after %s", lock.Name, c.Label, made)
				assert.False(t, called[c.Label+c.Leads], "%s: %s, %s, after %s", lock.Name, c.ID, c.Label, made)
				called[c.Label+c.Leads] = true
			}
			made = append(made, choices[dice.IntN(len(choices))].ID)
		}
	}
}
