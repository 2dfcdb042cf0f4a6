//go:build linux || darwin

package replay_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/racing"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/scenarios/replay"
	"github.com/locklab/locklab/sim/explore"
)

// articles are races that articles tell of, found by exploring: only the lock, the kind of fault and the anomaly are given.
func articles() map[string]struct {
	lock    string
	fault   explore.Fault
	most    int
	anomaly checker.Name
	bounds  explore.Config
} {
	type race = struct {
		lock    string
		fault   explore.Fault
		most    int
		anomaly checker.Name
		bounds  explore.Config
	}
	twoOnce, twoTwice, threeOnce := explore.Config{Clients: 2, Rounds: 1}, explore.Config{Clients: 2, Rounds: 2}, explore.Config{Clients: 3, Rounds: 1}
	several := explore.Config{Clients: 2, Rounds: 1, Servers: 3}
	long := twoOnce // whose holders work for longer than their first lease lasts
	long.Budget[explore.Overwork] = 1
	return map[string]race{
		"double-delete":      {"setnx-expired-del", explore.Crash, 1, checker.WrongfulDelete, threeOnce},
		"overwrite":          {"getset", explore.Crash, 1, checker.Overwrite, threeOnce},
		"nil-for-expired":    {"getset-nil-expired", explore.Pause, 0, checker.Overwrite, twoTwice},
		"nil-for-lost":       {"getset-nil-lost", explore.Pause, 1, checker.GhostLock, twoTwice},
		"clock-ahead":        {"getset", explore.ClockAhead, 1, checker.Overwrite, twoOnce},
		"clock-behind":       {"getset", explore.ClockBehind, 1, checker.Overwrite, twoOnce},
		"crash-before-limit": {"setnx-expire-norepair", explore.Crash, 1, checker.StuckLock, twoOnce},
		"strangers-lock":     {"setpx-del", explore.Pause, 1, checker.WrongfulDelete, twoOnce},
		"looked-and-deleted": {"setpx-getdel", explore.Pause, 1, checker.WrongfulDelete, twoOnce},
		"sent-again":         {"setpx-del-resend", explore.LostReply, 1, checker.WrongfulDelete, twoOnce},
		"late-copy":          {"setnx-watch", explore.Duplicate, 1, checker.WrongfulDelete, twoOnce},
		"paused-while-asked": {"watchdog", explore.Pause, 1, checker.StaleWrite, twoOnce},
		"renewal-late":       {"redisson", explore.LateRequest, 2, checker.DoubleHolder, long},
		"renewal-unheard":    {"redisson", explore.LostReply, 2, checker.DoubleHolder, long},
		"late-request":       {"setpx-lua-resend", explore.LateRequest, 1, checker.GhostLock, twoOnce},

		"endless-release":      {"setpx-lua-published/endless-release", explore.Pause, 1, checker.HungOperation, twoOnce},
		"last-write-lost":      {"redisson-fair", explore.FailOver, 1, checker.DoubleHolder, twoOnce},
		"restart-amid-work":    {"setnx-del", explore.Restart, 1, checker.StaleWrite, twoOnce},
		"release-unheard":      {"getset-published", explore.LostReply, 1, checker.Unreleasable, twoOnce},
		"lost-amid-acquire":    {"setnx-expire", explore.FailOver, 1, checker.DoubleHolder, twoOnce},
		"late-expire":          {"setnx-expire", explore.Pause, 2, checker.WrongfulRenew, twoOnce},
		"blind-renewal":        {"watchdog-published/blind-renewal", explore.Pause, 2, checker.WrongfulRenew, twoOnce},
		"time-out-over":        {"redlock-no-second-look", explore.Pause, 1, checker.DoubleHolder, several},
		"majority-lost":        {"redlock", explore.Restart, 1, checker.StaleWrite, several},
		"released-by-half":     {"redlock-endless", explore.Pause, 1, checker.DoubleHolder, several},
		"majority-lost-writes": {"redlock", explore.FailOver, 1, checker.DoubleHolder, several},
		"copy-under-majority":  {"redlock", explore.Duplicate, 1, checker.LostUpdate, several},
	}
}

// told are the races of the articles, each with its script.
func told(t *testing.T) map[string]replay.Race {
	t.Helper()
	races := map[string]replay.Race{}
	for name, r := range articles() {
		lock, ok := impls.Find(r.lock)
		require.True(t, ok, r.lock)
		config := r.bounds
		config.Lock, config.MostFaults, config.Only = lock, r.most, []checker.Name{r.anomaly}
		config.Budget[r.fault] = uint8(r.most)
		result, err := explore.Explore(t.Context(), config)
		require.NoError(t, err, name)
		require.NotNil(t, result.Found, name)
		races[name] = replay.Race{Lock: lock, Faults: r.fault.String(), Trace: result.Found}
	}
	return races
}

// TestScripts: what is written is what a person would have written.
func TestScripts(t *testing.T) {
	for name, race := range told(t) {
		t.Run(name, func(t *testing.T) {
			text, err := replay.Script(race.Lock, race.Trace)
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Join("testdata", name+".lab"))
			require.NoError(t, err)
			assert.Equal(t, string(want), text)
		})
	}
}

// TestNoScript: what a script cannot force is an error that says so.
func TestNoScript(t *testing.T) {
	lock, _ := impls.Find("setpx-lua")
	beside := &explore.Trace{Lock: lock.Name, Clients: 1, Servers: 1, Steps: []explore.Step{{Kind: explore.StepExpire, Beside: true}}}
	_, err := replay.Script(lock, beside)
	assert.ErrorContains(t, err, "beside the operations")
}

// TestEveryRaceIsLive replays the races of the articles, and for every lock what the table of breaking points names first, on real
// servers.
func TestEveryRaceIsLive(t *testing.T) {
	races := told(t)
	_, lines := reviewed(t)
	for _, line := range lines {
		if line.Why != "" {
			continue
		}
		lock, known := impls.Find(line.Lock)
		require.True(t, known, line.Lock)
		race, err := replay.Points(line)[0].Find(t.Context(), lock, explore.Config{})
		require.NoError(t, err)
		races[race.Name()] = race
	}
	servers := []string{live.Embedded, live.RedisServer}
	if racing.Enabled {
		servers = servers[:1] // of what races there is no more on the other
	}
	for _, kind := range servers {
		t.Run(kind, func(t *testing.T) {
			if kind == live.RedisServer {
				needRedis(t)
			}
			playAll(t, kind, races)
		})
	}
}

// playAll replays races side by side.
func playAll(t *testing.T, kind string, races map[string]replay.Race) {
	var planned []lab.Case
	for _, name := range slices.Sorted(maps.Keys(races)) {
		race := races[name]
		script, err := race.Parsed()
		require.NoError(t, err, name)
		script.Name = name
		planned = append(planned, lab.Cases([]*scenarios.Script{script}, []play.Subject{play.SubjectOf(race.Lock)}, 1, lab.Expect(nil))...)
	}
	run, err := lab.Run(t.Context(), lab.Plan{Cases: planned, Options: lab.Options{Setting: lab.Setting{Server: kind}, Parallel: 6}})
	require.NoError(t, err)
	ran := run.Cells
	require.Len(t, ran, len(races))
	for _, cell := range ran {
		why, shown := races[cell.Scenario].Shown(cell)
		assert.True(t, shown, "%s: %s", cell.Scenario, why)
		assert.Equal(t, checker.ByScript, cell.Expected.By)
		assert.False(t, cell.Surprise(), "%s: %s", cell.Scenario, cell.Verdict)
	}
}

// needRedis skips the test where there is no redis-server, unless it is required.
func needRedis(t *testing.T) {
	t.Helper()
	_, _, err := server.FindRedis()
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), "redis") {
		t.Fatal(err)
	}
	t.Skip(err)
}

// TestPoints: each entry of a line is found again, once.
func TestPoints(t *testing.T) {
	_, lines := reviewed(t)
	tests := map[string][]string{
		"setpx-del": {
			"setpx-del-pause-double-holder", "setpx-del-lost-reply-ghost-lock", "setpx-del-late-request-ghost-lock",
			"setpx-del-late-request-double-holder", "setpx-del-duplicate-stale-write", "setpx-del-duplicate-double-holder",
			"setpx-del-server-jump-double-holder", "setpx-del-restart-double-holder", "setpx-del-fail-over-double-holder",
		},
		"local": {"local-none-double-holder", "local-none-stale-write", "local-none-lost-update"},
		"redlock-no-second-look": {
			"redlock-no-second-look-pause-double-holder", "redlock-no-second-look-late-request-stale-write",
			"redlock-no-second-look-duplicate-stale-write", "redlock-no-second-look-server-jump-double-holder",
			"redlock-no-second-look-restart-double-holder", "redlock-no-second-look-fail-over-double-holder",
		},
	}
	for name, want := range tests {
		lock, _ := impls.Find(name)
		line := lines[slices.IndexFunc(lines, func(l explore.Line) bool { return l.Lock == name })]
		var found []string
		for _, point := range replay.Points(line) {
			race, err := point.Find(t.Context(), lock, explore.Config{})
			require.NoError(t, err)
			assert.LessOrEqual(t, len(race.Trace.Faults), 1)
			found = append(found, race.Name())
		}
		assert.Equal(t, want, found)
	}
}

// What the table names and nobody finds is an error that says so.
func TestPointThatIsNotThere(t *testing.T) {
	lock, _ := impls.Find("setpx-lua")
	line := explore.Line{Lock: lock.Name, Mixture: []string{"crash", "duplicate"}}
	points := replay.Points(line)
	require.Len(t, points, 1)
	assert.Equal(t, "2 × crash+duplicate: [double-holder]", points[0].String())
	_, err := points[0].Find(t.Context(), lock, explore.Config{States: 1000})
	assert.EqualError(t, err, "by the table of breaking points, 2 × crash+duplicate: [double-holder]; it was not found again")
}
