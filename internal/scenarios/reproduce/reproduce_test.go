//go:build linux || darwin

package reproduce_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// articles are races that articles tell of, found by exploring: only the lock, the kind of fault and the anomaly are given.
func articles() map[string]struct {
	lock    string
	fault   faults.Kind
	most    int
	anomaly checker.Name
	bounds  search.Config
} {
	type race = struct {
		lock    string
		fault   faults.Kind
		most    int
		anomaly checker.Name
		bounds  search.Config
	}
	twoOnce, twoTwice, threeOnce := search.Config{Clients: 2, Rounds: 1}, search.Config{Clients: 2, Rounds: 2}, search.Config{Clients: 3, Rounds: 1}
	several := search.Config{Clients: 2, Rounds: 1, Servers: 3}
	long := twoOnce // whose holders work for longer than their first lease lasts
	long.Budget = search.Budget{faults.LongHold: 1}
	dying := twoOnce
	dying.Budget = search.Budget{faults.Crash: 1}
	return map[string]race{
		"double-delete":      {"setnx-expired-del", faults.Crash, 1, checker.WrongfulDelete, threeOnce},
		"overwrite":          {"getset", faults.Crash, 1, checker.Overwrite, threeOnce},
		"nil-for-expired":    {"getset-nil-expired", faults.Pause, 0, checker.Overwrite, twoTwice},
		"nil-for-lost":       {"getset-nil-lost", faults.Pause, 1, checker.GhostLock, twoTwice},
		"clock-ahead":        {"getset", faults.ClockAhead, 1, checker.Overwrite, twoOnce},
		"clock-behind":       {"getset", faults.ClockBehind, 1, checker.Overwrite, twoOnce},
		"clock-set-ahead":    {"getset", faults.StepAhead, 1, checker.Overwrite, twoOnce},
		"clock-set-back":     {"setnx-expired-del", faults.StepBack, 1, checker.DoubleHolder, twoOnce},
		"server-set-back":    {"setpx-lua", faults.ClockBack, 2, checker.StuckLock, dying},
		"crash-before-limit": {"setnx-expire-norepair", faults.Crash, 1, checker.StuckLock, twoOnce},
		"strangers-lock":     {"setpx-del", faults.Pause, 1, checker.WrongfulDelete, twoOnce},
		"looked-and-deleted": {"setpx-getdel", faults.Pause, 1, checker.WrongfulDelete, twoOnce},
		"sent-again":         {"setpx-del-resend", faults.ReplyLost, 1, checker.WrongfulDelete, twoOnce},
		"late-copy":          {"setnx-watch", faults.Duplicate, 1, checker.WrongfulDelete, twoOnce},
		"paused-while-asked": {"watchdog", faults.Pause, 1, checker.StaleWrite, twoOnce},
		"renewal-late":       {"redisson", faults.LateRequest, 2, checker.DoubleHolder, long},
		"renewal-unheard":    {"redisson", faults.ReplyLost, 2, checker.DoubleHolder, long},
		"late-request":       {"setpx-lua-resend", faults.LateRequest, 1, checker.GhostLock, twoOnce},

		"endless-release":       {"setpx-lua-published/endless-release", faults.Pause, 1, checker.HungOperation, search.Config{Clients: 1, Rounds: 1}},
		"last-write-lost":       {"redisson-fair", faults.FailOver, 1, checker.DoubleHolder, twoOnce},
		"restart-amid-work":     {"setnx-del", faults.Restart, 1, checker.StaleWrite, twoOnce},
		"release-unheard":       {"setex-lua-published", faults.ReplyLost, 1, checker.FalseAlarm, twoOnce},
		"lost-amid-acquire":     {"setnx-expire", faults.FailOver, 1, checker.DoubleHolder, twoOnce},
		"late-expire":           {"setnx-expire", faults.Pause, 2, checker.WrongfulRenew, twoOnce},
		"blind-renewal":         {"watchdog-published/blind-renewal", faults.Pause, 2, checker.WrongfulRenew, twoOnce},
		"restart-unheard":       {"setpx-lua-resend", faults.Restart, 1, checker.FalseAlarm, twoOnce},
		"fail-over-unheard":     {"setnx-expire", faults.FailOver, 1, checker.GhostLock, twoOnce},
		"restart-amid-takeover": {"getset-nil-expired", faults.Restart, 1, checker.Overwrite, twoOnce},
		"time-out-over":         {"redlock-no-second-look", faults.Pause, 1, checker.DoubleHolder, several},
		"majority-lost":         {"redlock", faults.Restart, 1, checker.StaleWrite, several},
		"released-by-half":      {"redlock-endless", faults.Pause, 1, checker.DoubleHolder, several},
		"majority-lost-writes":  {"redlock", faults.FailOver, 1, checker.DoubleHolder, several},
		"copy-under-majority":   {"redlock", faults.Duplicate, 1, checker.LostUpdate, several},
	}
}

// long are the searches of more than ten thousand states. The quick run leaves them out.
var long = []string{"blind-renewal", "renewal-late", "renewal-unheard", "time-out-over", "released-by-half", "endless-release", "copy-under-majority", "late-expire"}

// inArticles are the races of the articles, each with its counterexample. They are found once.
var inArticles = sync.OnceValues(func() (map[string]reproduce.Counterexample, error) {
	found := map[string]reproduce.Counterexample{}
	for name, r := range articles() {
		if !needs.Full() && slices.Contains(long, name) {
			continue
		}
		lock, ok := impls.Find(r.lock)
		if !ok {
			return nil, fmt.Errorf("%s: there is no lock %s", name, r.lock)
		}
		config := r.bounds
		config.Lock, config.MostFaults, config.Only = lock, r.most, []checker.Name{r.anomaly}
		config.Budget = search.Budget{r.fault: r.most}
		maps.Copy(config.Budget, r.bounds.Budget)
		result, err := search.Search(context.Background(), config)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case result.Found == nil:
			return nil, fmt.Errorf("%s: nothing is found", name)
		case r.most > 0 && len(result.Found.Faults) < r.most:
			return nil, fmt.Errorf("%s: with fewer faults it is found too: %v", name, result.Found.Faults)
		}
		found[name] = reproduce.Counterexample{Lock: lock, Faults: string(r.fault), Trace: result.Found}
	}
	return found, nil
})

// TestScripts: what is written is what a person would have written.
func TestScripts(t *testing.T) {
	all, err := inArticles()
	require.NoError(t, err)
	needs.Count(t, "races", len(all), len(articles()))
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			script, err := reproduce.Script(c.Lock, c.Trace)
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Join("testdata", name+".lab"))
			require.NoError(t, err)
			assert.Equal(t, string(want), string(scenarios.Format(script)))
		})
	}
}

// TestNoScript: what a script cannot force is an error that says so.
func TestNoScript(t *testing.T) {
	lock, _ := impls.Find("setpx-lua")
	beside := &trace.Trace{Lock: lock.Name, Clients: 1, Servers: 1, Steps: []trace.Step{{Kind: trace.Expire, Beside: true}}}
	_, err := reproduce.Script(lock, beside)
	assert.ErrorContains(t, err, "beside the operations")
}

// table is every counterexample that the table of breaking points names. They are found once.
var table = sync.OnceValues(func() ([]lab.Found, error) {
	lines, err := points.Reviewed()
	if err != nil {
		return nil, err
	}
	return lab.Counterexamples(context.Background(), lines, nil)
})

// TestAllInTheModel: every counterexample of the table shows its anomalies when the model plays its script.
func TestAllInTheModel(t *testing.T) {
	needs.Long(t, "finds and replays all that the table of breaking points names")
	t.Parallel()
	found, err := table()
	require.NoError(t, err)
	var all []reproduce.Counterexample
	for _, line := range found {
		assert.Empty(t, line.Missed, line.Line.Lock)
		all = append(all, line.Counterexamples...)
	}
	assert.Greater(t, len(all), 240)
	if *update {
		lines := ""
		for _, c := range all {
			lines += frozen(c)
		}
		require.NoError(t, os.WriteFile(frozenFile, []byte(lines), 0o644))
	}
	areFrozen(t, all)
	playAll(t, lab.Setting{World: lab.Sim}, all)
}

// Part of the table is found again in the quick run.
func TestSomeAreFoundAgain(t *testing.T) {
	lines, err := points.Reviewed()
	require.NoError(t, err)
	var all []reproduce.Counterexample
	for _, line := range lines {
		if !slices.Contains([]string{"setpx-lua", "redlock-endless", "zookeeper-protected"}, line.Lock) {
			continue
		}
		lock, _ := impls.Find(line.Lock)
		limits := search.Config{States: 20_000}
		for _, point := range line.Points() {
			if found, err := point.Find(t.Context(), lock, limits); err == nil {
				all = append(all, reproduce.Counterexample{Lock: lock, Faults: point.Faults, Trace: found})
			}
		}
	}
	assert.Greater(t, len(all), 20)
	areFrozen(t, all)
}

var update = flag.Bool("update", false, "rewrite testdata/counterexamples.golden, with LOCKLAB_LONG=1")

const frozenFile = "testdata/counterexamples.golden"

// areFrozen: counterexamples have as many steps, and the same faults, as when they were reviewed.
func areFrozen(t *testing.T, all []reproduce.Counterexample) {
	t.Helper()
	text, err := os.ReadFile(frozenFile)
	require.NoError(t, err)
	known := slices.Collect(strings.Lines(string(text)))
	for _, c := range all {
		assert.True(t, slices.Contains(known, frozen(c)), "not in %s: %s", frozenFile, frozen(c))
	}
}

func frozen(c reproduce.Counterexample) string {
	return fmt.Sprintf("%s %v: %d steps after %v\n", c.Name(), c.Trace.Anomalies, len(c.Trace.Steps), c.Trace.Faults)
}

// TestLive replays the races of the articles, and for every lock what the table of breaking points names first, on real servers.
func TestLive(t *testing.T) {
	t.Parallel()
	var all []reproduce.Counterexample
	articles, err := inArticles()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(articles)) {
		all = append(all, articles[name])
	}
	if needs.Count(t, "tables of breaking points", 0, 1) == 1 {
		found, err := table()
		require.NoError(t, err)
		for _, line := range found {
			if len(line.Counterexamples) > 0 && line.Counterexamples[0].Lock.Needs != impls.OneZooKeeper {
				all = append(all, line.Counterexamples[0])
			}
		}
	}
	for _, kind := range []string{live.Embedded, live.RedisServer} {
		t.Run(kind, func(t *testing.T) {
			if kind == live.RedisServer {
				needs.Long(t, "the same as on the embedded server")
				needs.Found(t, "redis", redis.Find)
			}
			t.Parallel()
			playAll(t, lab.Setting{Server: kind}, all)
		})
	}
}

// unforced is a counterexample whose order no script forces: a call that its client has left to itself deletes its node as soon as this is the first, and a
// script holds no such request. The model is too quick for it; on a ZooKeeper it depends on chance.
const unforced = "go-zookeeper-none-ghost-lock"

// playAll replays counterexamples side by side.
func playAll(t *testing.T, where lab.Setting, all []reproduce.Counterexample) {
	t.Helper()
	replays, err := lab.Replays(t.Context(), lab.ReplayPlan{
		Counterexamples: all, Options: lab.Options{Setting: where, Parallel: 6},
		Played: func(p lab.Played) {
			if p.Name() == unforced {
				assert.Equal(t, checker.Undecided, p.Cell.Verdict.Kind, p.Cell.Verdict)
				return
			}
			assert.True(t, p.Shown, "%s: %s", p.Name(), p.Why)
			assert.Equal(t, record.ByScript, p.Cell.Expected.By)
			assert.False(t, p.Cell.Surprise(), "%s: %s", p.Name(), p.Cell.Verdict)
		},
	})
	require.NoError(t, err)
	for _, r := range replays {
		require.NoError(t, r.Err, r.Name())
		require.Equal(t, r.Name() != unforced, r.Shown > 0, r.Name())
	}
}
