package explore

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStories holds the stories of some counterexamples against what people have read and found right.
func TestStories(t *testing.T) {
	tests := map[string]struct {
		lock             string
		clients, servers int
		budget           Budget
		only             checker.Name
		width            int
	}{
		"setnx-del-crash":              {lock: "setnx-del", clients: 3, budget: Budget{Crash: 1}},
		"setpx-del-strangers-lock":     {lock: "setpx-del", clients: 3, budget: Budget{Pause: 1}, only: checker.WrongfulDelete},
		"setpx-del-80-columns":         {lock: "setpx-del", clients: 3, budget: Budget{Pause: 1}, width: 80},
		"getset-overwrite":             {lock: "getset", clients: 3, budget: Budget{Crash: 1}, only: checker.Overwrite},
		"setpx-lua-resend-ghost":       {lock: "setpx-lua-resend", clients: 3, budget: Budget{LostReply: 1}},
		"setnx-expire-norepair-crash":  {lock: "setnx-expire-norepair", clients: 2, budget: Budget{Crash: 1}},
		"watchdog-published-two":       {lock: "watchdog-published", clients: 2, budget: Budget{Pause: 1}, only: checker.DoubleHolder},
		"fenced-restart":               {lock: "fenced", clients: 2, budget: Budget{Restart: 1}},
		"redlock-forgetful":            {lock: "redlock", clients: 2, servers: 3, budget: Budget{Restart: 1}},
		"redlock-forgetful-80-columns": {lock: "redlock", clients: 2, servers: 3, budget: Budget{Restart: 1}, width: 60},
		"local-no-fault":               {lock: "local", clients: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, ok := impls.Find(test.lock)
			require.True(t, ok)
			c := Config{Lock: spec, Clients: test.clients, Rounds: 1, Servers: test.servers, Budget: test.budget, MostFaults: 1, States: 300_000}
			if test.only != "" {
				c.Only = []checker.Name{test.only}
			}
			result, err := Explore(t.Context(), c)
			require.NoError(t, err)
			require.NotNil(t, result.Found, "stopped at the limit of %q", result.Limit)
			require.Empty(t, result.Disputed)
			var b bytes.Buffer
			b.WriteString(c.Bounds() + "\n")
			require.NoError(t, result.Found.Story(&b, StoryOptions{Width: test.width}))
			golden(t, name, b.Bytes())
		})
	}
}

// golden compares what was told with testdata/name.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go test -update if this is meant")
}
