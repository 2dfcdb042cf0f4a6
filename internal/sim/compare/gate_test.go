//go:build unix

package compare

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/explore"
	"github.com/locklab/locklab/internal/sim/search"
)

// BenchmarkGate puts questions to both searches on which exact histories break, as far as the reference search follows tries. Each goes on
// to the end, whatever it finds: how many states, and how many seconds of processor time.
func BenchmarkGate(b *testing.B) {
	for _, q := range []struct {
		lock                           string
		clients, rounds, tries, pauses int
	}{
		{"redlock", 2, 1, 2, 1},
		{"getset", 2, 1, 3, 0},
		{"getset", 2, 1, 3, 1},
		{"setpx-lua", 2, 1, 3, 1},
		{"fenced", 3, 2, 1, 2},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d/tries=%d/pauses=%d", q.lock, q.clients, q.rounds, q.tries, q.pauses), func(b *testing.B) {
			lock, _ := impls.Find(q.lock)
			bounds := Usual()
			bounds.Clients, bounds.Rounds, bounds.Tries, bounds.Faults, bounds.States = q.clients, q.rounds, q.tries, q.pauses, 0
			slow, fast := bounds.configs(lock, faults.Pause)
			fast.Excuses = func(checker.Name, []faults.Kind) bool { return true }
			var took [2]time.Duration
			var states [2]int
			for b.Loop() {
				from := processorTime()
				f, err := explore.Explore(context.Background(), fast)
				require.NoError(b, err)
				require.True(b, f.Complete(), f.Limit)
				between := processorTime()
				s, err := search.Search(context.Background(), slow)
				require.NoError(b, err)
				require.Empty(b, s.Limit)
				took[0], took[1] = took[0]+between-from, took[1]+processorTime()-between
				states = [2]int{f.States, s.States}
			}
			for i, name := range []string{"explorer", "reference"} {
				b.ReportMetric(took[i].Seconds()/float64(b.N), name+"-s")
				b.ReportMetric(float64(states[i]), name+"-states")
			}
			b.ReportMetric(float64(took[1])/float64(took[0]), "times")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
