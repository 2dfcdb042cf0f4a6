//go:build linux || darwin

package live_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/scenarios"
)

func TestEveryVerbOnOneOfSeveralServers(t *testing.T) {
	needs.Long(t, "every verb on one of several servers")
	s := openStage(t, nil)
	for name, test := range map[string]struct {
		text, verdict string
		story         []string
	}{
		"links to some servers": {`
			lease 10s
			clients C1 C2
			servers 5
			C1 refuse S4 S5
			C1 acquire => ok
			C1 heal S4
			C1 release => ok
			C1 heal
			C2 acquire => ok
			C2 release => ok`,
			"safe", []string{"C1 refuse: inject", "C1 refuse: effective", "C1 acquire: ok",
				"C1 refuse: recover", "C1 release: ok", "C1 refuse: recover", "C2 acquire: ok"}},

		"a minority cut off": {`
			lease 10s
			clients C1
			servers 3
			C1 cut off from S2
			C1 acquire within 1 lease => ok
			C1 heal S2
			C1 release => ok`,
			"safe", []string{"C1 partition: effective", "C1 acquire: ok", "C1 partition: recover", "C1 release: ok"}},

		"every link": {`
			lease 10s
			clients C1
			servers 3
			C1 refuse
			C1 acquire => unknown
			C1 heal
			C1 acquire => ok`,
			"safe", []string{"C1 refuse: effective", "C1 acquire: unknown", "C1 refuse: recover", "C1 acquire: ok"}},

		"one clock jumps": {`
			lease 60s
			clients C1 C2
			servers 3
			C1 acquire => ok
			S2 clock jumps 2 leases
			C2 acquire => no
			S3 clock jumps 2 leases
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"S2 clock-jump: inject", "S2 clock-jump: effective", "C2 acquire: no",
				"S3 clock-jump: effective", "C2 acquire: ok"}},

		"one restarts empty": {`
			lease 60s
			clients C1 C2
			servers 3
			C1 acquire => ok
			S1 restarts empty
			C2 acquire => no
			S2 restarts empty
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"S1 restart: effective", "C2 acquire: no", "S2 restart: effective", "C2 acquire: ok"}},

		"all restart": {`
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server restarts empty
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"S1 restart: effective", "S5 restart: effective", "C2 acquire: ok"}},

		"a breakpoint counts over all servers": {`
			lease 20s
			clients C1
			servers 3
			C1 acquire hold reply of second write => held-up
			C1 continue => ok`,
			"safe", []string{"C1 sends SET", "C1 sends SET", "C1 hold-reply: effective", "C1 hold-reply: recover", "C1 sends SET", "C1 acquire: ok"}},

		"a breakpoint on one server": {`
			lease 20s
			clients C1 C2
			servers 3
			C1 acquire hold before first write on S3 => held-up
			C2 acquire => no
			C1 continue => ok`,
			"safe", []string{"C1 hold: effective", "C2 acquire: no", "C1 hold: recover", "C1 acquire: ok"}},

		"wait until a minority's leftover has gone": {`
			lease 1s
			clients C1 C2
			servers 3
			C1 acquire => ok
			C1 refuse S3
			C1 release => ok
			wait until freed => ok
			C2 acquire => ok
			C2 release => ok
			C1 heal
			wait until expired => expired`,
			"safe", []string{"C1 release: ok", "C2 acquire: ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell, events := s.playScript(t, script(t, name, test.text), subject(t, "redlock"))
			assert.Equal(t, test.verdict, cell.Verdict.String(), "%+v", cell.Verdict)
			tells(t, events, append(test.story, "end: complete")...)
			faultsAreEvident(t, events)
		})
	}
}

// A lock gets the servers that it is tried with in every script, and their names are in the history.
func TestServersOfALock(t *testing.T) {
	s := openStage(t, nil)
	for lock, want := range map[string][]string{
		"redlock": {"S1", "S2", "S3", "S4", "S5"}, "redisson-multilock": {"S1", "S2", "S3"}, "setpx-lua": {"redis"},
	} {
		cell, events := s.playScript(t, script(t, "turn", oneTurn), subject(t, lock))
		assert.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
		var names []string
		for _, e := range events {
			if e.Kind == history.KindCommand && e.Command().Server != "resource" && !slices.Contains(names, e.Command().Server) {
				names = append(names, e.Command().Server)
			}
			if e.Kind == history.KindOpen && len(want) > 1 {
				assert.Equal(t, len(want), e.Detail.Servers)
			}
		}
		assert.Equal(t, want, names, lock)
	}
}

func TestWhoHasNoSeveralServers(t *testing.T) {
	theirs, err := redis.StartEmbedded()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, theirs.Close()) })
	own, at := openStage(t, nil), openStage(t, func(cfg *live.Config) { cfg.Server = theirs.Addr() })
	five, majority := "lease 60s\nclients C1\nservers 5\nC1 acquire => ok", "lease 60s\nclients C1\nneeds majority\nC1 acquire => ok"
	for _, test := range []struct {
		*stage
		lock, text, want string
	}{
		{own, "setpx-lua", five, "the lock uses one server"},
		{own, "local", five, "the lock uses one server"},
		{own, "setpx-lua", majority, "a majority of servers is not enough for the lock"},
		{own, "redisson-multilock", majority, "a majority of servers is not enough for the lock"},
		{at, "redlock", oneTurn, "the lock needs several independent servers, and at the address is one"},
	} {
		cell, _ := test.playScript(t, script(t, "five", test.text), subject(t, test.lock))
		assert.Equal(t, "n/a: "+test.want, cell.Verdict.String())
		assert.Equal(t, record.ByNeeds, cell.Expected.By)
	}
	cell, _ := own.playScript(t, script(t, "five", five), foreign("setpx-lua", "none"))
	assert.Equal(t, "n/a: the lock uses one server", cell.Verdict.String(), "a client that does not say so")
}

// Who takes half of the servers for a majority lets both in; nobody else does.
func TestEvenSplitWithAHalfMajority(t *testing.T) {
	t.Parallel()
	s := openStage(t, nil)
	cell, _ := s.playScript(t, builtin(t, "even-split"), subject(t, "redlock-no-second-look/half-majority"))
	assert.Equal(t, "double-holder, stale-write, lost-update", cell.Verdict.String())
	cell, _ = s.playScript(t, builtin(t, "even-split"), subject(t, "redlock"))
	assert.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
}

func TestRedlockOnRealServers(t *testing.T) {
	needs.Long(t, "five redis-servers")
	t.Parallel()
	needs.Found(t, "redis", redis.Find)
	s := openStage(t, func(cfg *live.Config) { cfg.Server = live.RedisServer })
	for name, want := range map[string]string{
		"majority-with-two-down": "safe", "one-restarts-empty": "double-holder, early-grant, stale-write, lost-update",
	} {
		cell, _ := s.playScript(t, builtin(t, name), subject(t, "redlock"))
		assert.Equal(t, want, cell.Verdict.String())
	}
}

// TestFailOverToAReplica: real replication loses what the restart with an older copy loses, and keeps what that keeps. The reviewed matrix holds
// with it.
func TestFailOverToAReplica(t *testing.T) {
	needs.Found(t, "redis", redis.Find)
	cells := map[string][]string{
		"fail-over-before-replication": {"setpx-lua", "redlock"},
		"fail-over-after-replication":  {"setpx-lua", "redlock", "setpx-lua-wait"},
		"replica-lags-past-renewals":   {"watchdog"},
		"no-replica-acknowledges":      {"setpx-lua", "setpx-lua-wait"},
		"wait-and-the-right-replica":   {"setpx-lua-wait"},
		"wait-and-the-wrong-replica":   {"setpx-lua-wait"},
		"min-replicas-refuses":         {"setpx-lua", "setpx-lua-wait"},
		"min-replicas-within-lag":      {"watchdog"},
		"redis-down":                   {"setpx-lua-wait"},
	}
	if needs.Count(t, "scenarios", 1, len(cells)) == 1 {
		cells = map[string][]string{"fail-over-before-replication": {"setpx-lua"}}
	}
	playExpected(t, openStage(t, func(cfg *live.Config) { cfg.Server = live.Replicated }), cells)
}

// TestFailOverInACluster: where a node of a Redis Cluster takes over, and clients follow by themselves, the verdicts are the same.
func TestFailOverInACluster(t *testing.T) {
	needs.Long(t, "fail-overs in a cluster")
	needs.Found(t, "redis", redis.Find)
	playExpected(t, openStage(t, func(cfg *live.Config) { cfg.Server = live.Cluster }), map[string][]string{
		"fail-over-before-replication": {"setpx-lua", "fenced"},
		"fails-over-and-back":          {"setnx-watch", "setpx-lua-resend"},
		"redis-restarts-empty":         {"redisson-fair"},
		"cut-off-past-lease":           {"setpx-lua"},
		"acquire-reply-lost":           {"setpx-lua"},
		"slot-migrates-while-held":     {"setpx-lua", "setnx-watch"},
		"slot-migrates-amid-release":   {"redisson"},
		"slot-migrates-in-part":        {"redisson-fair", "fenced"},
		"one-fails-over":               {"redlock-cluster"},
		"one-fails-over-of-three":      {"redlock-cluster"},
	})
}

// playExpected holds locks in scenarios to the reviewed matrix.
func playExpected(t *testing.T, s *stage, cells map[string][]string) {
	t.Helper()
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	for scenario, locks := range cells {
		for _, lock := range locks {
			t.Run(scenario+" "+lock, func(t *testing.T) {
				t.Parallel()
				expected, ok := matrix.Lookup(scenario, lock)
				require.True(t, ok)
				cell, _ := s.playScript(t, builtin(t, scenario), subject(t, lock))
				assert.Equal(t, expected.String(), cell.Verdict.String())
			})
		}
	}
}
