package world

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/programs"
	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/suspicion"
)

var (
	randomLocks = flag.Int("seeds", 0, "how many random locks take random paths; 0: a few, or some hundreds in full")
	randomPaths = flag.Int("paths", 12, "how many paths each takes")
)

// TestTheCheckersJudgesAgreeOnRandomLocks: on random paths of locks that nobody has thought of, faults and all, the checker's monitors and its
// models see the same anomalies, and they see none where this search has no suspicion.
func TestTheCheckersJudgesAgreeOnRandomLocks(t *testing.T) {
	t.Parallel()
	count := uint64(cmp.Or(*randomLocks, needs.Count(t, "random locks", 20, 200)))
	for name, program := range map[string]struct {
		make  func(uint64) (impls.Spec, string)
		known []uint64 // these have shown something
	}{
		"plain": {programs.Make, []uint64{741, 1928, 3249}},
		"rich":  {programs.MakeRich, []uint64{144, 1473, 1886, 2368}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left, seeds := 0, program.known
			for seed := range count {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				spec, text := program.make(seed)
				dice := rand.New(rand.NewPCG(seed, 5))
				for path := range *randomPaths {
					verdict := agree(t, randomConfig(spec, path, faults.Duplicate, faults.Restart, faults.FailOver), dice, fmt.Sprintf("seed %d, path %d, %s", seed, path, text))
					if slices.Contains(verdict.Names(), checker.Unreleasable) {
						left++
					}
				}
			}
			require.True(t, left > 0 || count < 100, "no release left its lock in place")
			t.Logf("%d paths of each lock, %d of them unreleasable", *randomPaths, left)
		})
	}
}

// So they do on random paths of the locks on a ZooKeeper.
func TestTheCheckersJudgesAgreeOnSessions(t *testing.T) {
	t.Parallel()
	for _, spec := range impls.OnZooKeeper() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			dice := rand.New(rand.NewPCG(1, 5))
			for path := range needs.Count(t, "random paths", 20, 200) {
				agree(t, randomConfig(spec, path, faults.Partition), dice, fmt.Sprint("path ", path))
			}
		})
	}
}

func randomConfig(spec impls.Spec, path int, kinds ...faults.Kind) Config {
	config := Config{
		Lock: spec, Clients: 2 + path%2, Rounds: 2, Tries: 2, Servers: 1, Lease: 2 * time.Second, Skew: 10 * time.Second, Most: path % 3,
		Budget: map[faults.Kind]int{faults.Pause: 2, faults.LongHold: 2, faults.Crash: 2, faults.ReplyLost: 2, faults.LateRequest: 2},
		Grid:   time.Second / 2, Horizon: 5 * time.Second, ReleaseAgain: path%4 == 0,
	}
	for _, kind := range kinds {
		config.Budget[kind] = 2
	}
	return config
}

// agree says what the checker sees on a random path. All of it has looked wrong, but for what only a fresh client shows, and what this search does not
// look for.
func agree(t *testing.T, config Config, dice *rand.Rand, path string) checker.Verdict {
	t.Helper()
	verdict, suspects := wander(t, config, dice)
	require.False(t, verdict.CheckerFault, "%s: %s", path, verdict.Reason)
	for _, name := range verdict.Names() {
		if name != checker.StuckLock && name != checker.DeadGrant {
			require.Contains(t, suspects.Names(), name, "%s: %v", path, verdict.Anomalies)
		}
	}
	return verdict
}

// wander makes choices by chance, and says what the checker and the search see in the history.
func wander(t *testing.T, config Config, dice *rand.Rand) (checker.Verdict, suspicion.Set) {
	t.Helper()
	const longest = 150
	s := newSpace(config, past.Known{Clocks: past.Absolute, Limits: true, Lives: true, Stays: true})
	defer s.Close()
	at, err := s.Begin()
	require.NoError(t, err)
	var suspects suspicion.Set
	var path []Choice
	for range longest {
		choices := s.Choices(nil, &at)
		if len(choices) == 0 {
			break
		}
		chosen := choices[dice.IntN(len(choices))]
		next, seen, err := s.Make(&at, chosen)
		require.NoError(t, err)
		path, at = append(path, chosen), next
		suspects |= seen
	}
	record, err := s.Record(path, false)
	require.NoError(t, err)
	return record.Trace.Verdict, suspects
}
