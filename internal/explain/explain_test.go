package explain

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/reasons"
)

// explained is an index, and the entries of all its names, made once for all tests.
type explained struct {
	*Index
	entries []*Entry
}

var indexed = sync.OnceValues(func() (*explained, error) {
	x, err := New()
	if err != nil {
		return nil, err
	}
	all := &explained{Index: x}
	for _, n := range x.Names() {
		all.entries = append(all.entries, x.entry(n))
	}
	return all, nil
})

func index(t *testing.T) *explained {
	t.Helper()
	x, err := indexed()
	require.NoError(t, err)
	return x
}

// withoutCell are the names that no cell shows, each with the reason.
func withoutCell() map[Name]string {
	return map[Name]string{
		{Kind: Fault, Name: "stall"}:  "the lab never causes it",
		{Kind: ExitCode, Name: "3"}:   "no cell ends so unless the lab fails",
		{Kind: ExitCode, Name: "64"}:  "nothing is run",
		{Kind: ExitCode, Name: "130"}: "it takes a user who interrupts",
	}
}

// TestEachNameIsExplained: each name has what it is, and a cell of the reviewed matrix; where no text is computed, there is one. A text or hint that names
// what does not exist fails.
func TestEachNameIsExplained(t *testing.T) {
	x := index(t)
	texts := map[Kind]map[string]bool{}
	for _, e := range x.entries {
		n := e.Name
		assert.NotEmpty(t, strings.TrimSpace(n.What), "%s %s", n.Kind, n.Name)
		file, _ := filesOf(n.Kind)
		if file != "" && n.Kind != Source || x.texts[n.Kind][n.Name].Lines != nil {
			assert.NotEmpty(t, e.Why, "texts/%s.txt says nothing of %s", file, n.Name)
			if texts[n.Kind] == nil {
				texts[n.Kind] = map[string]bool{}
			}
			texts[n.Kind][n.Name] = true
		}
		for _, f := range e.More {
			if f.Label == "page" {
				assert.FileExists(t, filepath.Join("..", "..", f.Text), "%s %s", n.Kind, n.Name)
			}
		}
		_, without := withoutCell()[Name{Kind: n.Kind, Name: n.Name}]
		isWord := !slices.Contains([]Kind{Anomaly, Fault, Lock, Scenario, Promise, Source, ExitCode, Verdict, Workload, Capability}, n.Kind)
		switch {
		case isWord: // some are used by no built-in scenario; the reference has an example of each
		case without:
			assert.Nil(t, e.Cell, "%s %s", n.Kind, n.Name)
		default:
			assert.NotNil(t, e.Cell, "%s %s", n.Kind, n.Name)
		}
	}
	for kind, all := range x.texts {
		file, _ := filesOf(kind)
		for name, text := range all {
			assert.True(t, texts[kind][name], "texts/%s.txt is about %s, which does not exist", file, name)
			if named := text.Hints["cell"]; named != "" {
				lock, scenario, _ := cutLast(named)
				assert.NotNil(t, x.At(lock, scenario), "texts/%s.txt, %s: the matrix has no cell %s", file, name, named)
			}
			for hint := range text.Hints {
				assert.Contains(t, []string{"cell", "shows", "with", "expect", "limit", "also"}, hint, name)
			}
		}
	}
}

// TestNamesAreFound: by themselves, with their kind, and whatever the case.
func TestNamesAreFound(t *testing.T) {
	x := index(t)
	seen := map[Name]bool{}
	for _, n := range x.Names() {
		key := Name{Kind: n.Kind, Name: n.Name}
		assert.False(t, seen[key], "%s %s is there twice", n.Kind, n.Name)
		seen[key] = true
	}
	for said, kind := range map[string]Kind{"clock-ahead": Fault, "scenario/clock-ahead": Scenario, "kleppmann": Source, "a1": Source, "unknown": Verdict, "PAUSE": Fault, "watchdog": Lock, "143": ExitCode, "getset-nil-lost/nil-lost+nil-expired": Lock} {
		e, ok := x.Find(said)
		require.True(t, ok, said)
		assert.Equal(t, kind, e.Kind, said)
	}
	e, _ := x.Find("split-brain")
	assert.Equal(t, []Kind{Scenario}, e.Also)
	for _, said := range []string{"", "xyzzy", "lock/", "lock/pause"} {
		_, ok := x.Find(said)
		assert.False(t, ok, said)
	}
}

// TestSourcesAreShownByTheirOwnRace: a source that cites several races is shown by the one that it is about.
func TestSourcesAreShownByTheirOwnRace(t *testing.T) {
	x := index(t)
	for source, cell := range map[string][2]string{
		"kleppmann": {"setpx-lua", "pause-past-lease"},
		"antirez":   {"redlock-endless", "pause-after-second-look"},
		"redis.io":  {"redlock", "one-restarts-empty"},
		"000":       {"getset", "clock-ahead"},
		"001":       {"setpx-del", "work-longer-than-lease"},
		"002":       {"watchdog-published", "renewal-after-release"},
		"003":       {"setnx-expire-norepair", "crash-between-setnx-and-expire"},
		"004":       {"setnx-watch", "holder-crashes"},
		"A4":        {"setpx-lua", "acquire-reply-lost"},
		"A8":        {"redisson-watchdog", "renewal-reply-lost"},
		"A11":       {"redlock-no-second-look", "pause-before-second-look"},
	} {
		e, ok := x.Find(source)
		if assert.True(t, ok, source) && assert.NotNil(t, e.Cell, source) {
			assert.Equal(t, cell, [2]string{e.Cell.Lock, e.Cell.Scenario}, source)
		}
	}
}

// TestStoriesShowTheirNames: the model plays the cell of a name, the verdict is the reviewed one, and the name is to be seen in it. The quick run leaves out
// the kinds whose cells are those of the suite itself.
func TestStoriesShowTheirNames(t *testing.T) {
	x := index(t)
	quick := []Kind{Anomaly, Fault, Promise, ExitCode, Verdict, Workload, Capability}
	all := needs.Count(t, "kinds of names", len(quick), 11) > len(quick)
	for _, e := range x.entries {
		n := e.Name
		if !all && !slices.Contains(quick, n.Kind) {
			continue
		}
		story, err := Play(t.Context(), e)
		require.NoError(t, err, n.Name)
		if e.Cell == nil {
			continue
		}
		require.NotEmpty(t, story.Finding, n.Name)
		if !e.Cell.of.InModel() {
			assert.Equal(t, checker.NotApplicable, story.Verdict.Kind, "%s %s", n.Kind, n.Name)
			continue
		}
		if e.Kind != Promise && e.Cell.hints["limit"] == "" && !e.Cell.of.Script.WorkloadOverridden {
			assert.True(t, story.Verdict.Same(e.Cell.of.Verdict), "%s %s: %s in %s: %s", n.Kind, n.Name, e.Cell.Lock, e.Cell.Scenario, story.Verdict)
		}
		switch n.Kind {
		case Anomaly:
			assert.Contains(t, story.Verdict.Names(), checker.Name(n.Name))
		case Fault:
			f, _ := faults.Find(n.Name)
			struck := slices.ContainsFunc(story.Events, func(event history.Event) bool {
				at := event.Fault()
				return at != nil && faults.Kind(at.Name) == f.Recorded && at.Phase == history.PhaseEffective
			})
			assert.True(t, struck || otherwise[f.Kind] != "", "%s does not strike in %s in %s", n.Name, e.Cell.Lock, e.Cell.Scenario)
		case Promise:
			assert.Contains(t, story.Verdict.Names(), checker.Name(e.Cell.hints["shows"]), n.Name)
			if unblamed[n.Name] == "" {
				assert.Contains(t, story.Finding, "promises "+n.Name+" must not", "%s in %s", e.Cell.Lock, e.Cell.Scenario)
			}
		case Verdict:
			assert.Equal(t, checker.Kind(n.Name), story.Verdict.Kind)
		}
	}
}

// otherwise are the faults whose cell has another one in their place.
var otherwise = map[faults.Kind]string{
	faults.LongHold:  "only searches and storms inject it; the script holds the work up",
	faults.Duplicate: "the copy in the script arrives later",
	faults.Delay:     "no script needs a slow link: a late reply is held at a breakpoint",
}

// unblamed are the promises that no anomaly is about: what excuses a lock without them is something else.
var unblamed = map[string]string{
	"tells-loss": "it takes an excuse from a lock that renews",
	"reentrant":  "the scenarios for it are n/a for locks without it",
}

// TestRepairsAreThoseOfTheMatrix: what stops a name is safe from it by the matrix, and what only seems to is not.
func TestRepairsAreThoseOfTheMatrix(t *testing.T) {
	x := index(t)
	e, _ := x.Find("pause-past-lease")
	assert.Equal(t, []reasons.Stop{{Lock: "zookeeper-fenced", Withstands: 1, Of: 1}}, e.Stops)
	named := map[string]reasons.Seem{}
	for _, seem := range e.Seems {
		named[seem.Lock] = seem
	}
	assert.Equal(t, reasons.Seem{Lock: "setnx-del", Scenario: "holder-crashes", Shows: []checker.Name{checker.StuckLock}}, named["setnx-del"])
	assert.Equal(t, reasons.Seem{Lock: "fenced", Scenario: "pause-past-lease", Shows: []checker.Name{checker.DoubleHolder}, Here: true}, named["fenced"])
	for _, e := range x.entries {
		n := e.Name
		for _, stop := range e.Stops {
			own := x.At(stop.Lock, e.Cell.Scenario)
			assert.True(t, own.Applies(), "%s %s: %s", n.Kind, n.Name, stop.Lock)
			if n.Kind == Scenario || n.Kind == Lock || n.Kind == Fault {
				assert.Equal(t, checker.Safe, own.Verdict.Kind, "%s %s: %s", n.Kind, n.Name, stop.Lock)
			}
			if n.Kind == Anomaly {
				assert.NotContains(t, own.Shows, checker.Name(n.Name), stop.Lock)
			}
		}
		for _, seem := range e.Seems {
			broken := x.At(seem.Lock, seem.Scenario)
			assert.Equal(t, broken.Shows, seem.Shows, "%s %s: %s", n.Kind, n.Name, seem.Lock)
			assert.True(t, reasons.Broken(broken), "%s %s: %s", n.Kind, n.Name, seem.Lock)
		}
	}
}
