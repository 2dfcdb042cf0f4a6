package search

import (
	"cmp"
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/programs"
	"github.com/locklab/locklab/internal/sim/world"
)

var randomLocks = flag.Int("seeds", 0, "how many random locks are searched with and without each reduction; 0: a few, or some dozens in full")

// reductions are all that can be switched off, and all of them together.
var reductions = map[string]world.Unreduced{
	"order of clients":  {Apart: true},
	"declared state":    {Undeclared: true},
	"private steps":     {Public: true},
	"clock differences": {Dated: true},
	"all":               {Apart: true, Undeclared: true, Public: true, Dated: true},
}

// Of locks that nobody has thought of, a search with each reduction finds the same as one without it.
func TestReductionsOfRandomLocks(t *testing.T) {
	t.Parallel()
	kinds := []faults.Kind{
		"", faults.Crash, faults.Pause, faults.LateRequest, faults.Restart, faults.LongHold, faults.Duplicate, faults.ReplyLost, faults.ClockJump, faults.FailOver,
		faults.StepAhead,
	}
	count := uint64(cmp.Or(*randomLocks, needs.Count(t, "random locks", 1, 15)))
	for name, program := range map[string]struct {
		make  func(uint64) (impls.Spec, string)
		known []uint64 // of these, answers have differed
	}{
		"plain": {programs.Make, []uint64{2609}},
		"rich":  {programs.MakeRich, []uint64{38, 871, 1589}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compared, found := map[string]int{}, map[checker.Name]int{}
			seeds := program.known
			for seed := range count {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				spec, text := program.make(seed)
				c := config(t, "setpx-lua", kinds[seed%uint64(len(kinds))])
				c.Lock, c.States, c.Tries = spec, 4_000, 1+int(seed%2)
				with := searched(t, c)
				if with.Limit != "" {
					continue
				}
				maps.Copy(found, fewest(with))
				for name, without := range reductions {
					c.Without, c.States = without, 12_000
					if without := searched(t, c); without.Limit == "" {
						assert.Equal(t, fewest(without), fewest(with), "seed %d, without %s: %s", seed, name, text)
						compared[name]++
					}
				}
			}
			t.Log("locks that were searched to the end with and without each:", compared)
			assert.Len(t, compared, len(reductions))
			assert.NotEmpty(t, found)
		})
	}
}

// A search for some anomalies keeps only what these need, and finds them as one for all does.
func TestOnlySome(t *testing.T) {
	t.Parallel()
	kinds := []faults.Kind{"", faults.Pause, faults.Crash, faults.ReplyLost, faults.Restart, faults.LateRequest}
	fewer := 0
	for seed := range uint64(cmp.Or(*randomLocks, needs.Count(t, "random locks", 3, 50))) {
		spec, text := programs.MakeRich(seed)
		spec.EqualTokens = true
		c := config(t, "setpx-lua", kinds[seed%uint64(len(kinds))])
		c.Lock, c.States = spec, 4_000
		all := searched(t, c)
		for _, only := range [][]checker.Name{{checker.DoubleHolder}, {checker.StaleWrite, checker.GhostLock}, {checker.LostUpdate, checker.StuckLock}, {checker.EarlyGrant}} {
			c.Only = only
			some := searched(t, c)
			if all.Limit+some.Limit != "" {
				continue
			}
			want := fewest(all)
			maps.DeleteFunc(want, func(name checker.Name, _ int) bool { return !slices.Contains(only, name) })
			got := fewest(some)
			maps.DeleteFunc(got, func(name checker.Name, _ int) bool { return !slices.Contains(only, name) })
			assert.Equal(t, want, got, "seed %d, %s, only %v", seed, text, only)
			fewer += all.States - some.States
		}
	}
	assert.Positive(t, fewer)
}
