package explore

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// BenchmarkComplete explores a lock to the end: how many distinct states a second, on one thread. What the lock's own code takes for
// the steps that are learned is in it, and so is what it takes to begin; BenchmarkBeginning shows that by itself. Whose the lock is is not followed.
func BenchmarkComplete(b *testing.B) {
	for _, test := range []struct {
		lock            string
		clients, rounds int
		faults          []faults.Kind
	}{
		{"getset", 3, 1, nil},
		{"getset", 3, 2, nil},
		{"setpx-lua", 3, 2, []faults.Kind{faults.Crash, faults.Pause}},
		{"fenced", 3, 2, []faults.Kind{faults.Crash}},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d/%v", test.lock, test.clients, test.rounds, test.faults), func(b *testing.B) {
			spec, _ := impls.Find(test.lock)
			states, learned := 0, 0
			for b.Loop() {
				result, err := Explore(context.Background(), Config{
					Lock: spec, Clients: test.clients, Rounds: test.rounds, Budget: spend(test.faults...), MostFaults: len(test.faults),
					Only: []checker.Name{checker.Unfair}, // nothing is to end the search
				})
				require.NoError(b, err)
				require.True(b, result.Complete(), result.Limit)
				states, learned = states+result.States, result.Learned
			}
			b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
			b.ReportMetric(float64(states)/float64(b.N), "states")
			b.ReportMetric(float64(learned), "learned")
		})
	}
}

// BenchmarkBeginning explores one client that goes through one round: hardly anything but beginning.
func BenchmarkBeginning(b *testing.B) {
	spec, _ := impls.Find("getset")
	for b.Loop() {
		_, err := Explore(context.Background(), Config{Lock: spec, Clients: 1, Rounds: 1})
		require.NoError(b, err)
	}
}

// BenchmarkFirst finds the first counterexample of every broken lock, as lab explore does where nobody asks for more.
func BenchmarkFirst(b *testing.B) {
	for _, spec := range impls.All() {
		if spec.Bug == "" {
			continue
		}
		b.Run(spec.Name, func(b *testing.B) {
			for b.Loop() {
				result, err := Explore(context.Background(), Config{Lock: spec}.Usual())
				require.NoError(b, err)
				require.NotNil(b, result.Found)
			}
		})
	}
}
