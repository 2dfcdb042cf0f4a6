package explore

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

func TestAccount(t *testing.T) {
	lua, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	progress := Progress{States: 2000, Steps: 12, Faults: 1, Took: 2 * time.Second, Memory: 3 << 20}
	tests := map[string]struct {
		result  Result
		outcome string
		says    []string
		never   string
	}{
		"holds": {
			Result{Facts: []string{"held", "refused"}, Progress: progress, Symmetric: true, Longest: 33}, "holds",
			[]string{"HOLDS within these bounds\n", "2000 in 2s (1000/s), the longest path has 33 steps, 3 MiB\n", "seen       held, refused\n"}, "VACUOUS",
		},
		"nobody ever held it": {
			Result{Facts: []string{"refused"}}, "vacuous", []string{"VACUOUS: ", "symmetry   not used"}, "HOLDS",
		},
		"limit": {
			Result{Limit: "5 states", Facts: []string{"held"}, Progress: progress}, "incomplete",
			[]string{"NOT COMPLETE: stopped at the limit of 5 states\n", "all with fewer than 1 fault, and with as many up to step 12;"}, "HOLDS",
		},
		"horizon": {
			Result{Facts: []string{"held"}, Horizon: 4800 * time.Millisecond}, "holds", []string{"time was followed for 4.8s\n"}, "VACUOUS",
		},
		"disputed": {
			Result{Facts: []string{"held"}, Disputed: []Dispute{{
				Anomaly: checker.Overwrite, Verdict: checker.Verdict{Kind: checker.Safe}, Trace: &Trace{Clients: 1, Servers: 1},
			}}}, "disputed",
			[]string{"DISPUTED: the explorer saw overwrite where the checker's verdict is safe.", "UNDECIDED"}, "HOLDS",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := Config{Lock: lua, Clients: 3, Rounds: 1}
			var b bytes.Buffer
			require.NoError(t, test.result.Account(&b, c, StoryOptions{}))
			for _, words := range test.says {
				assert.Contains(t, b.String(), words)
			}
			assert.NotContains(t, b.String(), test.never)
			assert.Equal(t, test.outcome, test.result.Record(c).Result.Outcome)
		})
	}
}

func TestBounds(t *testing.T) {
	lua, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	c := Config{Lock: lua, Clients: 1, Rounds: 2, MostFaults: 2, Budget: Budget{Pause: 1, Crash: 2}}
	assert.Equal(t, "setpx-lua: 1 client, 2 rounds each, 1 server\n  faults     up to 2, of these: pause 1, crash 2\n", c.Bounds())
	for f := range c.Budget {
		c.Budget[f] = 2
	}
	assert.Contains(t, c.Bounds(), "up to 2, of any kind")
	c.MostFaults = 0
	assert.Contains(t, c.Bounds(), "faults     none")
}

func TestPlainly(t *testing.T) {
	for text, want := range map[string]string{
		`{"expires":1577836801200,"token":"C1#a"}`: "expires:2.200s token:C1#a",
		"1577836800":             "1.000s",
		"4102444800000":          "4102444800000", // no moment of the model
		"SET k C1#a NX PX 1200":  "SET k C1#a NX PX 1200",
		`"{\"token\":\"C2#b\"}"`: "token:C2#b",
		"157783680012":           "157783680012",
	} {
		assert.Equal(t, want, plainly(text))
	}
}
