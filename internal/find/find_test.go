package find

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/scenarios"
)

func builtin(t *testing.T) (*Index, []*scenarios.Script, *scenarios.Matrix) {
	t.Helper()
	x, err := Builtin()
	require.NoError(t, err)
	var scripts []*scenarios.Script
	for _, e := range x.entries {
		scripts = append(scripts, e.script)
	}
	return x, scripts, x.matrix
}

// first are the scenarios of the first n hits.
func (x *Index) first(n int, said string) []string {
	var names []string
	for _, hit := range x.Find(said) {
		names = append(names, hit.Scenario)
	}
	return names[:min(n, len(names))]
}

// TestNamesFindTheirScenario: a scenario is found first by its name and by its title, and among the first three by what it is also called and by each
// trouble that is seen in it.
func TestNamesFindTheirScenario(t *testing.T) {
	x, scripts, _ := builtin(t)
	for _, script := range scripts[:needs.Count(t, "scenarios", 30, len(scripts))] {
		assert.Equal(t, []string{script.Name}, x.first(1, script.Name))
		assert.Equal(t, []string{script.Name}, x.first(1, script.Title), script.Title)
	}
	for scenario, names := range x.aliases {
		_, ok := scenarios.Find(scripts, scenario)
		require.True(t, ok, scenario)
		for _, name := range names {
			assert.Contains(t, x.first(3, name), scenario, name)
		}
	}
	for _, trouble := range Troubles() {
		assert.Contains(t, x.first(3, trouble.What), trouble.Scenario, trouble.What)
	}
}

// TestHitsShowWhatTheySay: a hit's lock breaks in the scenario by the reviewed table, unless no lock does, and the verdicts are the table's.
func TestHitsShowWhatTheySay(t *testing.T) {
	x, scripts, matrix := builtin(t)
	for _, script := range scripts {
		hit := x.Find(script.Name)[0]
		if len(hit.Locks) == 0 {
			for _, lock := range matrix.Locks(script.Name) {
				assert.Equal(t, checker.NotApplicable, Expected(matrix, script.Name, lock).Kind, "%s in %s", lock, script.Name)
			}
			assert.Contains(t, hit.Command, " --client ")
			continue
		}
		shown := Expected(matrix, script.Name, hit.Locks[0].Lock)
		assert.Equal(t, shown.String(), hit.Locks[0].Expected)
		if shown.Kind != checker.Broken {
			assert.Equal(t, checker.Safe, shown.Kind, script.Name)
			for _, lock := range matrix.Locks(script.Name) {
				assert.NotEqual(t, checker.Broken, Expected(matrix, script.Name, lock).Kind, "%s in %s", lock, script.Name)
			}
		}
		assert.NotEmpty(t, hit.Sources, script.Name)
		assert.Contains(t, hit.Command, "run "+script.Name+" --lock "+hit.Locks[0].Lock)
	}
}

// TestAnomaliesAndFaults: an anomaly and a fault are found by their names, in scenarios that have them.
func TestAnomaliesAndFaults(t *testing.T) {
	x, scripts, matrix := builtin(t)
	for _, d := range checker.Definitions() {
		shown := func(scenario string) bool {
			return slices.ContainsFunc(matrix.Locks(scenario), func(lock string) bool { return slices.Contains(Expected(matrix, scenario, lock).Names(), d.Name) })
		}
		if slices.ContainsFunc(scripts, func(s *scenarios.Script) bool { return shown(s.Name) }) {
			require.NotEmpty(t, x.Find(string(d.Name)), d.Name)
			assert.True(t, shown(x.first(1, string(d.Name))[0]), "%s finds %s", d.Name, x.first(1, string(d.Name)))
		}
	}
	for _, script := range scripts {
		for _, fault := range Faults(script) {
			assert.NotEmpty(t, x.Find(string(fault.Kind)), fault.Kind)
		}
	}
}

func TestStem(t *testing.T) {
	for _, words := range [][]string{
		{"expire", "expires", "expired", "expiring"}, {"renew", "renews", "renewed", "renewing"}, {"stop", "stops", "stopped", "stopping"},
		{"release", "releases", "released"}, {"hold", "holder", "holders", "holding"}, {"oversell", "oversells", "overselling"}, {"lease", "leases"},
	} {
		for _, word := range words {
			assert.Equal(t, stem(words[0]), stem(word), word)
		}
	}
	assert.NotEqual(t, stem("lease"), stem("least"))
}

// TestChinese: a text in Chinese is split at the longest words that are known; fillers are dropped.
func TestChinese(t *testing.T) {
	known := []string{"库存", "主从", "主从切换", "锁"}
	assert.Equal(t, []string{"mast", "主从切换", "锁", "丢失"}, stems("master的主从切换，锁丢失了", known))
}

// TestSynonyms: a word in two sets has the words of both, and a word that is no synonym counts more than one that is.
func TestSynonyms(t *testing.T) {
	x, _, _ := builtin(t)
	said := x.words.in("failover")
	require.Len(t, said, 1)
	assert.Contains(t, said[0].as, "sentinel")
	own, as := newText([]string{"failov"}).worth(word{as: []string{"failov", "sentinel"}, rare: 2})
	assert.Equal(t, "failov", as)
	other, as := newText([]string{"sentinel"}).worth(word{as: []string{"failov", "sentinel"}, rare: 2})
	assert.Equal(t, "sentinel", as)
	assert.Greater(t, own, other)
}

// TestMisspelt: a word that nothing has is taken for the nearest one, and what has no near one finds nothing.
func TestMisspelt(t *testing.T) {
	x, _, _ := builtin(t)
	assert.Equal(t, x.first(3, "kleppmann"), x.first(3, "klepmann"))
	assert.Empty(t, x.Find("xyzzy"))
	assert.Empty(t, x.Find("的"))
	assert.Empty(t, x.Find("the"))
}
