package explore

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/sim/search"
)

func TestWriteExploration(t *testing.T) {
	lua, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	progress := search.Progress{States: 2000, Steps: 12, Faults: 1, Took: 2 * time.Second, Memory: 3 << 20}
	tests := map[string]struct {
		result  search.Result
		outcome string
		says    []string
		never   string
	}{
		"holds": {
			search.Result{Coverage: []string{"held", "refused"}, Progress: progress, Symmetric: true, Longest: 33}, "holds",
			[]string{"HOLDS within these bounds\n", "2000 in 2s (1000/s), the longest path has 33 steps\n", "coverage   held, refused\n"}, "VACUOUS",
		},
		"nobody ever held it": {
			search.Result{Coverage: []string{"refused"}}, "vacuous", []string{"VACUOUS: ", "symmetry   not used"}, "HOLDS",
		},
		"limit": {
			search.Result{Limit: "5 states", Coverage: []string{"held"}, Progress: progress}, "incomplete",
			[]string{"NOT COMPLETE: stopped at the limit of 5 states\n", "all with fewer than 1 fault, and with as many up to step 12;", "go on      a larger --limit"}, "HOLDS",
		},
		"doubt": {
			search.Result{Doubt: "acquire does something else with other tokens", Coverage: []string{"held"}, Progress: progress}, "not-shown",
			[]string{"NOT SHOWN: ", "noticed    acquire does something else with other tokens\n", "any code   locktest.Explore(t, locktest.OfSpec(lock),"}, "HOLDS",
		},
		"horizon": {
			search.Result{Coverage: []string{"held"}, Horizon: 4800 * time.Millisecond}, "holds", []string{"the search follows time for 4.8s\n"}, "VACUOUS",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			explored := &lab.Exploration{Config: search.Config{Lock: lua, Clients: 3, Rounds: 1}, Result: &test.result}
			var b bytes.Buffer
			require.NoError(t, writeExploration(&b, explored, exploreOptions{TraceOptions: exploration.TraceOptions{Width: 200}, Assumptions: true}))
			for _, words := range test.says {
				assert.Contains(t, b.String(), words)
			}
			assert.NotContains(t, b.String(), test.never)
			assert.Equal(t, test.outcome, newExploreRecord(explored).Result.Outcome)
		})
	}
}

func TestBoundsText(t *testing.T) {
	lua, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	c := search.Config{Lock: lua, Clients: 1, Rounds: 2, MostFaults: 2, Budget: search.Budget{faults.Pause: 1, faults.Crash: 2}}
	assert.Equal(t, "setpx-lua: 1 client, 2 rounds each with 1 try, 1 server\n  faults     up to 2, of these: pause 1, crash 2\n", boundsText(c, format.UsualWidth))
	c.Budget = search.Any(c.Lock, 2)
	assert.Contains(t, boundsText(c, format.UsualWidth), "up to 2, of any kind")
	c.MostFaults = 0
	assert.Contains(t, boundsText(c, format.UsualWidth), "faults     none")
}

// TestAssumedIsShort: what a result rests on has five lines at most, whatever it is, and no line of a screen is longer than the terminal.
func TestAssumedIsShort(t *testing.T) {
	lock, ok := impls.Find("redisson-multilock")
	require.True(t, ok)
	for _, full := range []bool{false, true} {
		for _, sessions := range []bool{false, true} {
			result := search.Result{
				Coverage: []string{"held"}, Sessions: sessions, Uncalled: []string{"Enter", "Leave", "Wakeups"}, Horizon: time.Second,
			}
			if !sessions {
				result.FewerServers = "the search has 3 servers, and the lock's card names 5: with 5 and 2 clients that acquire once, without a fault, nothing was wrong"
			}
			explored := &lab.Exploration{Config: search.Config{Lock: lock, Clients: 3, Rounds: 1}, Result: &result}
			var b bytes.Buffer
			require.NoError(t, writeExploration(&b, explored, exploreOptions{TraceOptions: exploration.TraceOptions{Width: format.UsualWidth}, Assumptions: full}))
			for line := range strings.Lines(b.String()) {
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), format.UsualWidth, line)
			}
			_, rest, _ := strings.Cut(b.String(), "  assumed  ")
			short, _, _ := strings.Cut(rest, "\n  horizon")
			assert.Equal(t, full, strings.Count(short, "\n") >= 5, short)
		}
	}
}
