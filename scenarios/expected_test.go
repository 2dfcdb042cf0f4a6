package scenarios

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/checker"
)

func written(t require.TestingT, m *Matrix) string {
	var out bytes.Buffer
	require.NoError(t, m.Write(&out))
	return out.String()
}

func TestBuiltinExpectedIsCanonical(t *testing.T) {
	m, err := BuiltinExpected()
	require.NoError(t, err)
	assert.Equal(t, string(expected), written(t, m))
}

// Every scenario says something about the same locks, and no other scenario is named.
func TestBuiltinExpectedIsComplete(t *testing.T) {
	m, err := BuiltinExpected()
	require.NoError(t, err)
	locks := map[string]bool{}
	variants := 0
	for _, r := range m.rows {
		if isVariant(r.lock) {
			variants++ // these are only where there is something to say about them
			continue
		}
		locks[r.lock] = true
	}
	cells := 0
	for _, s := range builtin(t) {
		for lock := range locks {
			_, ok := m.Lookup(s.Name, lock)
			assert.True(t, ok, "%s in %s", lock, s.Name)
			cells++
		}
	}
	for _, s := range builtin(t) {
		variants -= len(m.Variants(s.Name))
	}
	assert.Zero(t, variants, "variants in scenarios that are not there")
	assert.Len(t, slices.DeleteFunc(m.rows, func(r row) bool { return isVariant(r.lock) }), cells)
}

// Each known-bad lock is caught by what its article says of it, and each good one is spared what it promises to avoid.
func TestBuiltinExpectedKnowsTheArticles(t *testing.T) {
	m, err := BuiltinExpected()
	require.NoError(t, err)
	found := map[string]map[checker.Name]bool{}
	for _, r := range m.rows {
		if found[r.lock] == nil {
			found[r.lock] = map[checker.Name]bool{}
		}
		for _, name := range r.verdict.Names() {
			found[r.lock][name] = true
		}
		if r.scenario == "take-turns" && r.lock != "none" && r.lock != "local" { // the one is no lock, the other fails where there are two machines
			assert.Equal(t, checker.Safe, r.verdict.Kind, r.lock)
		}
	}
	for lock, names := range map[string][]checker.Name{
		"setnx-del":        {checker.StuckLock},
		"getset":           {checker.DoubleHolder, checker.EarlyGrant, checker.Overwrite, checker.Unreleasable, checker.WrongfulDelete, checker.FalseAlarm},
		"setpx-del":        {checker.WrongfulDelete, checker.DoubleHolder},
		"setpx-getdel":     {checker.WrongfulDelete, checker.DoubleHolder},
		"setpx-del-resend": {checker.WrongfulDelete, checker.GhostLock},
	} {
		for _, name := range names {
			assert.True(t, found[lock][name], "%s must be caught by %s", lock, name)
		}
	}
	assert.False(t, found["setpx-lua"][checker.WrongfulDelete])
	assert.False(t, found["watchdog"][checker.WrongfulDelete])
	assert.False(t, found["watchdog"][checker.WrongfulRenew])
}

func TestParseExpectedTellsWhatIsWrong(t *testing.T) {
	_, err := ParseExpected("expected.txt", []byte(`# Header.

pause   setpx-lua   safe
pause   setpx-lua   double-holder
pause   getset
pause   watchdog    dubble-holder
pause   setpx-del   stale-write, stale-write
crash   setpx-lua   n/a
crash   setpx-del   unknown: who knows
crash   getset      safe: mostly
crash   watchdog    save
`))
	require.Error(t, err)
	assert.Equal(t, strings.TrimSpace(`
expected.txt:4: setpx-lua in pause is on line 3 already
expected.txt:5: a cell is 'scenario  lock  verdict', where the verdict is 'safe', anomalies, or 'n/a: why'
expected.txt:6: unknown verdict or anomaly "dubble-holder"; did you mean "double-holder"?
expected.txt:7: anomaly "stale-write" is named twice
expected.txt:8: 'n/a' needs a reason, as in 'n/a: sends no GET while acquiring'
expected.txt:9: 'unknown' is no expectation; write what should be observed, or remove the line
expected.txt:10: 'safe' has no reason; put remarks into a comment above
expected.txt:11: unknown verdict or anomaly "save"; did you mean "safe"?
`), err.Error())
}

func TestMatrixLookup(t *testing.T) {
	m, err := ParseExpected("expected.txt", []byte("pause  setpx-lua  lost-update, double-holder\npause getset n/a: sends  no GET\n"))
	require.NoError(t, err)
	found, ok := m.Lookup("pause", "setpx-lua")
	require.True(t, ok)
	assert.Equal(t, "double-holder, lost-update", found.String())
	found, ok = m.Lookup("pause", "getset")
	require.True(t, ok)
	assert.Equal(t, "n/a: sends no GET", found.String())
	_, ok = m.Lookup("pause", "watchdog")
	assert.False(t, ok)
	_, ok = new(Matrix).Lookup("pause", "watchdog")
	assert.False(t, ok)
}

func TestMatrixVariantsDoNotWidenTheTable(t *testing.T) {
	m, err := ParseExpected("expected.txt", []byte("pause  getset  safe\npause  getset/much-too-long-a-name  stale-write\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"getset/much-too-long-a-name"}, m.Variants("pause"))
	assert.Empty(t, m.Variants("crash"))
	assert.Equal(t, "pause   getset   safe\npause   getset/much-too-long-a-name   stale-write\n", written(t, m))
}

func TestMatrixSetKeepsOrderAndComments(t *testing.T) {
	m, err := ParseExpected("expected.txt", []byte(`# Header.
# More of it.

# About b.
b  two  n/a: because
b  one  safe

a  one  safe
# The end.
`))
	require.NoError(t, err)
	seen := func(names ...checker.Name) checker.Verdict {
		v := checker.Verdict{Kind: checker.Broken}
		for _, name := range names {
			v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: name, Why: "it was seen", Events: []int{1, 2}})
		}
		return v
	}
	m.Set("new", "zeta", checker.Verdict{Kind: checker.Safe})
	m.Set("b", "three", seen(checker.StuckLock, checker.DoubleHolder, checker.StuckLock))
	m.Set("new", "alpha", checker.Verdict{Kind: checker.NotApplicable, Reason: "two\nlines"})
	m.Set("fresh", "one", checker.Verdict{Kind: checker.Safe})
	m.Set("b", "two", checker.Verdict{Kind: checker.NotApplicable, Reason: "the same in other words"})
	m.Set("a", "one", checker.Verdict{Kind: checker.Undecided, Reason: "the machine stalled"})
	m.Set("a", "never", checker.Verdict{Kind: checker.Undecided})
	m.Set("b", "one", seen(checker.LostUpdate))
	assert.Equal(t, `# Header.
# More of it.

# About b.
b       two     n/a: because
b       one     lost-update
b       three   double-holder, stuck-lock

a       one     safe

fresh   one     safe

new     alpha   n/a: two lines
new     zeta    safe

# The end.
`, written(t, m))
	found, _ := m.Lookup("b", "three")
	assert.Empty(t, found.Anomalies[0].Why, "a matrix expects no story, only its name")
}

// However the cells of a run come in, the same file is written, and it reads back as the same matrix.
func TestMatrixRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type cell struct{ scenario, lock string }
		cells := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) cell {
			return cell{rapid.StringMatching(`[a-c]-x{0,2}`).Draw(t, "scenario"), rapid.StringMatching(`[a-c]`).Draw(t, "lock")}
		}), func(c cell) cell { return c }).Draw(t, "cells")
		verdict := func(c cell) checker.Verdict {
			switch c.lock {
			case "a":
				return checker.Verdict{Kind: checker.NotApplicable, Reason: c.scenario}
			case "b":
				return checker.Verdict{Kind: checker.Safe}
			}
			return broken([]checker.Name{checker.LostUpdate, checker.DoubleHolder})
		}
		known := rapid.IntRange(0, len(cells)).Draw(t, "known")
		one, other := &Matrix{header: []string{"# Header."}}, &Matrix{header: []string{"# Header."}}
		for _, m := range []*Matrix{one, other} {
			for _, c := range cells[:known] {
				m.add(row{scenario: c.scenario, lock: c.lock, verdict: verdict(c)})
			}
		}
		for _, c := range cells[known:] {
			one.Set(c.scenario, c.lock, verdict(c))
		}
		for _, c := range rapid.Permutation(cells[known:]).Draw(t, "order") {
			other.Set(c.scenario, c.lock, verdict(c))
		}
		text := written(t, one)
		require.Equal(t, text, written(t, other))
		again, err := ParseExpected("expected.txt", []byte(text))
		require.NoError(t, err)
		require.Equal(t, text, written(t, again))
		require.Len(t, again.rows, len(cells))
	})
}

func FuzzParseExpected(f *testing.F) {
	f.Add(expected)
	f.Add([]byte("# header\n\n# a\na b n/a: c\n#"))
	f.Add([]byte("# only a comment"))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := ParseExpected("expected.txt", src)
		if err != nil {
			return
		}
		text := written(t, m)
		for line := range strings.SplitSeq(text, "\n") {
			if len(line) > maxLine {
				t.Skip("aligned, a line is longer than a line may be")
			}
		}
		again, err := ParseExpected("expected.txt", []byte(text))
		require.NoError(t, err, "%s", text)
		require.Equal(t, text, written(t, again))
	})
}

// TestEveryAnomalyIsInTheMatrix: each anomaly that the checker knows is what a broken lock comes to in some scenario of the reviewed table.
func TestEveryAnomalyIsInTheMatrix(t *testing.T) {
	matrix, err := BuiltinExpected()
	require.NoError(t, err)
	scripts, err := Builtin()
	require.NoError(t, err)
	shown := make(map[checker.Name]bool)
	for _, s := range scripts {
		for _, lock := range append(matrix.Locks(s.Name), matrix.Variants(s.Name)...) {
			expected, _ := matrix.Lookup(s.Name, lock)
			for _, name := range expected.Names() {
				shown[name] = true
			}
		}
	}
	for _, d := range checker.Definitions() {
		assert.True(t, shown[d.Name], "no cell shows %s", d.Name)
	}
}
