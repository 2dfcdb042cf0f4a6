package points

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

func TestReviewedIsWrittenAsItIsRead(t *testing.T) {
	lines, err := Reviewed()
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, WriteLines(&b, lines))
	text, err := os.ReadFile("breaking.txt")
	require.NoError(t, err)
	assert.Equal(t, string(text), b.String())
	require.Len(t, lines, len(impls.Explored()))
	for i, spec := range impls.Explored() {
		assert.Equal(t, spec.Name, lines[i].Lock)
	}
}

// A line that is found again takes the place of the reviewed one; the others stay, and the order is that of the locks.
func TestMerge(t *testing.T) {
	reviewed, err := Reviewed()
	require.NoError(t, err)
	found := Line{Lock: "redlock", Why: "found again"}
	merged := Merge([]Line{found}, reviewed)
	require.Len(t, merged, len(reviewed))
	for i, line := range merged {
		want := reviewed[i]
		if want.Lock == "redlock" {
			want = found
		}
		assert.Equal(t, want, line)
	}
}

// What a search has come to is written as it is read, however far it has come.
func TestSearchesAreToldAsFarAsTheyWent(t *testing.T) {
	for text, want := range map[string]Break{
		"-":              {Clear: 2},
		">1":             {Clear: 1},
		"?":              {Clear: -1},
		"- in 3x1":       {Clear: 2, Within: "3x1"},
		">1 in 2x1":      {Clear: 1, Within: "2x1"},
		">1 in 3x1":      {Clear: 1, Within: "3x1"},
		"? 1 to step 25": {Clear: 0, Steps: 25},
		"? 0 to step 9":  {Clear: -1, Steps: 9},
	} {
		got, err := parseBreak(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, text, got.String())
	}
}

func TestReviewedTellsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"getset":             "breaking.txt:1: a line is",
		"getset puase -":     `breaking.txt:1: "puase" is no fault`,
		"\ngetset pause two": `breaking.txt:2: "two" is no breaking point`,
	} {
		_, err := parseLines(text)
		require.ErrorContains(t, err, want)
	}
}

// TestBreakingPoints finds the table again as far as small searches come. What they come to must be what the table says, or less.
func TestBreakingPoints(t *testing.T) {
	reviewed, err := Reviewed()
	require.NoError(t, err)
	var same, all atomic.Int64
	t.Run("locks", func(t *testing.T) {
		for i, lock := range impls.Explored() {
			t.Run(lock.Name, func(t *testing.T) {
				if !slices.Contains([]string{"setnx-del", "setpx-lua", "redlock-endless", "zookeeper-fenced"}, lock.Name) {
					needs.Long(t, "one more row of the table")
				}
				t.Parallel()
				search := Search{Locks: []impls.Spec{lock}, States: 5_000}
				if lock.Needs == impls.OneZooKeeper || Cost(lock) > time.Second { // five times as many show hardly more of these
					search.States = 1_000
				}
				search.States = needs.Count(t, "states of each search", 200, search.States)
				lines, err := search.Find(t.Context())
				require.NoError(t, err)
				assert.Empty(t, Differences(lines, reviewed))
				for c, cell := range lines[0].Cells {
					if all.Add(1); cell.String() == reviewed[i].Cells[c].String() {
						same.Add(1)
					}
				}
			})
		}
	})
	assert.True(t, 2*same.Load() > all.Load() || !needs.Full(), "too little was found again")
}

// FuzzReviewed: what is read as a table is written so that it is read again as the same.
func FuzzReviewed(f *testing.F) {
	for lines := range slices.Chunk(strings.SplitAfter(reviewedText, "\n"), 60) {
		f.Add(strings.Join(lines, ""))
	}
	f.Add("getset n/a no reason\n\ngetset mixture crash + pause\n")
	f.Add("getset none -,\ngetset mixture ?\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := parseLines(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var once, twice bytes.Buffer
		require.NoError(t, WriteLines(&once, lines))
		again, err := parseLines(once.String())
		require.NoError(t, err, once.String())
		require.NoError(t, WriteLines(&twice, again))
		require.Equal(t, once.String(), twice.String())
	})
}

func TestDifferences(t *testing.T) {
	reviewed, err := parseLines("a none -\na pause 1 double-holder\nb none -")
	require.NoError(t, err)
	lines, err := parseLines("a none -\na pause 2 ghost-lock; -\nb none -\nc none -")
	require.NoError(t, err)
	assert.Equal(t, []string{
		"a, pause: 2 ghost-lock; -; the reviewed table has 1 double-holder",
		"c is not in the reviewed table",
	}, Differences(lines, reviewed))

	reviewed, err = parseLines("a none ghost-lock,?\na pause -")
	require.NoError(t, err)
	for text, agrees := range map[string]bool{
		"a none ?\na pause 1 ghost-lock; -":  true, // by a fault, since the search without one came less far
		"a none ?\na pause 1 stale-write; -": false,
		"a none -\na pause 1 ghost-lock; -":  false,
	} {
		lines, err := parseLines(text)
		require.NoError(t, err)
		assert.Equal(t, agrees, len(Differences(lines, reviewed)) == 0, text)
	}
}

// A row that was searched for some faults only knows nothing of their mixtures.
func TestARowOfSomeColumnsKnowsNoMixture(t *testing.T) {
	lock, ok := impls.Find("setnx-del")
	require.True(t, ok)
	lines, err := Search{Locks: []impls.Spec{lock}, Columns: []Column{Column(faults.Crash)}, States: 500}.Find(t.Context())
	require.NoError(t, err)
	reviewed := slices.Clone(lines)
	reviewed[0].MixtureBound = Break{Clear: -1, Steps: 64}
	assert.Empty(t, Differences(lines, reviewed))
}

// A search that ended among three clients once says nothing of two clients twice, which the reviewed table may know.
func TestASearchOfOneRoundDoesNotContradictTwo(t *testing.T) {
	for text, agrees := range map[string]bool{"1 double-holder in 2x2": true, "1 double-holder": false} {
		lines, err := parseLines("a none -\na pause >1")
		require.NoError(t, err)
		reviewed, err := parseLines("a none -\na pause " + text)
		require.NoError(t, err)
		assert.NotEmpty(t, Differences(lines, reviewed), text)
		lines, err = parseLines("a none -\na pause >1 in 3x1")
		require.NoError(t, err)
		assert.Equal(t, agrees, len(Differences(lines, reviewed)) == 0, text)
	}
}

// A smaller search may know less than the reviewed table, but neither more nor anything else.
func TestSmallerSearchesMayKnowLess(t *testing.T) {
	tests := []struct {
		got, reviewed string
		agrees        bool
	}{
		{"1 ghost-lock; -", "1 ghost-lock; -", true},
		{"1 ghost-lock; ? 1 to step 9", "1 ghost-lock; 1 double-holder", true},
		{"1 ghost-lock; >1", "1 ghost-lock; 1 double-holder", false},
		{"1 ghost-lock; 1 double-holder", "1 ghost-lock; -", false},
		{"2 ghost-lock; -", "1 ghost-lock; -", false},
		{"? 1 to step 9", "1 double-holder", true},
		{"? 1 to step 9", "? 1 to step 10", true},
		{"? 1 to step 11", "? 1 to step 10", false},
		{">1", "2 wrongful-renew", true},
		{">1", "1 wrongful-renew", false},
		{"-", "2 wrongful-renew", false},
		{">1", "-", true},
		{">1 in 2x1", ">1", true},
		{"- in 3x1", "-", true},
		{"- in 2x1", ">1", true},
		{"- in 2x1", ">1 in 2x1", false},
		{"- in 2x1", "1 double-holder", true},
		{"- in 3x1", "1 double-holder", false},
		{"- in 3x1", "2 double-holder", false},
		{"- in 3x1", "1 double-holder in 2x2", true},
		{"1 ghost-lock; - in 3x1", "1 ghost-lock; 1 double-holder", false},
		{"? 1 to step 9", "? 1 to step 9; 2 double-holder", true},
		{"? 1 to step 9; 2 double-holder", "? 1 to step 9; 2 double-holder", true},
		{"? 1 to step 9; 2 double-holder", "? 1 to step 9", false},
		{">1 in 3x1", "1 double-holder", false},
		{">1 in 3x1", "2 double-holder", true},
		{"- in 3x1", ">1", true},
		{"- in 3x1", ">1 in 2x1", false},
		{">1", "- in 3x1", false},
		{"? 1 to step 20", "- in 3x1", true},
		{"-", ">1", false},
		{"2 wrongful-renew", ">1", false},
	}
	for _, test := range tests {
		lines, err := parseLines("a none -\na pause " + test.got)
		require.NoError(t, err)
		reviewed, err := parseLines("a none -\na pause " + test.reviewed)
		require.NoError(t, err)
		assert.Equal(t, test.agrees, len(Differences(lines, reviewed)) == 0, "%s, where the table has %s", test.got, test.reviewed)
	}
	for mixture, agrees := range map[string]bool{"pause + crash": true, "? 2 to step 8": true, "-": false, "pause + restart": false} {
		lines, err := parseLines("a none -\na mixture " + mixture)
		require.NoError(t, err)
		reviewed, err := parseLines("a none -\na mixture pause + crash")
		require.NoError(t, err)
		assert.Equal(t, agrees, len(Differences(lines, reviewed)) == 0, mixture)
	}
}

func TestExpect(t *testing.T) {
	const table = `
setpx-del none -
setpx-del pause 1 double-holder
setpx-del overwork -
setpx-del crash -
setpx-del lost-reply 1 ghost-lock; -
setpx-del late-request >1
setpx-del restart >1 in 2x1
setpx-del duplicate 1 wrongful-delete in 2x2; -
setpx-del mixture crash + overwork
`
	lines, err := parseLines(table)
	require.NoError(t, err)
	setpx, ok := impls.Find("setpx-del")
	require.True(t, ok)
	lua, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	config := func(clients, rounds, most int, budget search.Budget, only ...checker.Name) search.Config {
		return search.Config{Lock: setpx, Clients: clients, Rounds: rounds, MostFaults: most, Budget: budget, Only: only}
	}
	tests := map[string]struct {
		config search.Config
		want   Expectation
	}{
		"one is enough":          {config(3, 1, 2, search.Budget{faults.Pause: 1}), MustBreak},
		"it is looked for":       {config(3, 1, 2, search.Budget{faults.Pause: 1}, checker.DoubleHolder), MustBreak},
		"not what is looked for": {config(3, 1, 2, search.Budget{faults.Pause: 1}, checker.Overwrite), MayBreak},
		"too few clients":        {config(2, 1, 2, search.Budget{faults.Pause: 1}), MayBreak},
		"harmless":               {config(3, 1, 2, search.Budget{faults.Crash: 2}), MustHold},
		"harmless in 2x2":        {config(2, 2, 2, search.Budget{faults.Crash: 2}), MustHold},
		"more than was reviewed": {config(4, 1, 2, search.Budget{faults.Crash: 2}), MayBreak},
		"a third":                {config(3, 1, 3, search.Budget{faults.Crash: 3}), MayBreak},
		"no two holders":         {config(3, 1, 2, search.Budget{faults.ReplyLost: 2}, checker.DoubleHolder), MustHold},
		"two are not known":      {config(3, 1, 2, search.Budget{faults.LateRequest: 2}), MayBreak},
		"one is known":           {config(3, 1, 1, search.Budget{faults.LateRequest: 1}), MustHold},
		"fewer were reviewed":    {config(3, 1, 1, search.Budget{faults.Restart: 1}), MayBreak},
		"as few as reviewed":     {config(2, 1, 1, search.Budget{faults.Restart: 1}), MustHold},
		"takes two rounds":       {config(2, 2, 1, search.Budget{faults.Duplicate: 1}), MustBreak},
		"mixture":                {config(2, 2, 2, search.Budget{faults.Crash: 1, faults.LongHold: 1}), MustBreak},
		"half a mixture":         {config(3, 1, 1, search.Budget{faults.Crash: 1, faults.LongHold: 1}), MustHold},
		"not in the table":       {search.Config{Lock: lua, Clients: 3, Rounds: 1}, PerCard},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Expect(lines, test.config))
		})
	}
}

func TestMeets(t *testing.T) {
	spec, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	card := spec.Card
	found := func(name checker.Name, kinds ...faults.Kind) *search.Result {
		return &search.Result{Found: &trace.Trace{Anomalies: []checker.Name{name}, Faults: kinds}}
	}
	holds := &search.Result{}
	assert.True(t, MustHold.Meets(holds, card))
	assert.False(t, MustBreak.Meets(holds, card), "a broken lock that passes is a surprise")
	assert.False(t, MustHold.Meets(found(checker.GhostLock), card))
	assert.True(t, MayBreak.Meets(found(checker.GhostLock), card))
	assert.True(t, PerCard.Meets(found(checker.DoubleHolder, faults.Pause), card), "a lease does not survive a pause")
	assert.False(t, PerCard.Meets(found(checker.DoubleHolder, faults.Crash), card))
	assert.False(t, PerCard.Meets(found(checker.WrongfulDelete, faults.Pause), card), "its release is by the owner only")
}
