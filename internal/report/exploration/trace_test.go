package exploration

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// TestTraceGolden renders some counterexamples as people have read them and found them right.
func TestTraceGolden(t *testing.T) {
	tests := map[string]struct {
		lock             string
		clients, servers int
		budget           search.Budget
		only             checker.Name
		width            int
	}{
		"setnx-del-crash":              {lock: "setnx-del", clients: 3, budget: search.Budget{faults.Crash: 1}},
		"setpx-del-strangers-lock":     {lock: "setpx-del", clients: 3, budget: search.Budget{faults.Pause: 1}, only: checker.WrongfulDelete},
		"setpx-del-80-columns":         {lock: "setpx-del", clients: 3, budget: search.Budget{faults.Pause: 1}, width: 80},
		"getset-overwrite":             {lock: "getset", clients: 3, budget: search.Budget{faults.Crash: 1}, only: checker.Overwrite},
		"setpx-lua-resend-ghost":       {lock: "setpx-lua-resend", clients: 3, budget: search.Budget{faults.ReplyLost: 1}},
		"setnx-expire-norepair-crash":  {lock: "setnx-expire-norepair", clients: 2, budget: search.Budget{faults.Crash: 1}},
		"watchdog-published-two":       {lock: "watchdog-published", clients: 2, budget: search.Budget{faults.Pause: 1}, only: checker.DoubleHolder},
		"fenced-restart":               {lock: "fenced", clients: 2, budget: search.Budget{faults.Restart: 1}},
		"redlock-forgetful":            {lock: "redlock", clients: 2, servers: 3, budget: search.Budget{faults.Restart: 1}},
		"redlock-forgetful-80-columns": {lock: "redlock", clients: 2, servers: 3, budget: search.Budget{faults.Restart: 1}, width: 60},
		"local-no-fault":               {lock: "local", clients: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, ok := impls.Find(test.lock)
			require.True(t, ok)
			c := search.Config{Lock: spec, Clients: test.clients, Rounds: 1, Servers: test.servers, Budget: test.budget, MostFaults: 1, States: 300_000}
			if test.only != "" {
				c.Only = []checker.Name{test.only}
			}
			result, err := search.Search(t.Context(), c)
			require.NoError(t, err)
			require.NotNil(t, result.Found, "stopped at the limit of %q", result.Limit)
			var b bytes.Buffer
			require.NoError(t, Write(&b, result.Found, TraceOptions{Width: test.width}))
			reporttest.Golden(t, "trace-"+name, b.Bytes())
		})
	}
}

// TestFaultExtent: a story says how much a fail-over has lost, and by how much a clock is wrong.
func TestFaultExtent(t *testing.T) {
	at := &trace.Trace{Skew: 1800 * time.Millisecond}
	for want, s := range map[string]trace.Step{
		"⚡ fail-over":                {Fault: faults.FailOver, Lost: 1},
		"⚡ fail-over, 2 writes lost": {Fault: faults.FailOver, Lost: 2},
		"⚡ clock-ahead by 1.8s":      {Fault: faults.ClockAhead},
		"⚡ step-back by 1.8s":        {Fault: faults.StepBack},
		"⚡ clock-back":               {Fault: faults.ClockBack},
		"⚡ pause":                    {Fault: faults.Pause},
	} {
		s.Kind = trace.Fault
		assert.Equal(t, want, StepText(at, s))
	}
}

func TestReadable(t *testing.T) {
	at := &trace.Trace{Began: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	for text, want := range map[string]string{
		`{"expires":1577836801200,"token":"C1#a"}`: "expires:2.200s token:C1#a",
		"1577836800":             "1.000s",
		"4102444800000":          "4102444800000", // no moment of the trace
		"SET k C1#a NX PX 1200":  "SET k C1#a NX PX 1200",
		`"{\"token\":\"C2#b\"}"`: "token:C2#b",
		"157783680012":           "157783680012",
	} {
		assert.Equal(t, want, readable(at, text))
	}
}
