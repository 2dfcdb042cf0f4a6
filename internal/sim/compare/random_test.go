package compare

import (
	"cmp"
	"context"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/programs"
)

var (
	seeds = flag.Int("seeds", 0, "how many random locks of each kind both searches go through; 0: 1, or 8 in full")
	first = flag.Uint64("first", 0, "the first of them")
	most  = flag.Int("states", 4_000, "how many states a search of one of them may find")
)

// small are bounds within which a random lock takes milliseconds, and most are searched to the end. With a fault there are more states.
func small(kind faults.Kind) Bounds {
	b := Usual()
	b.States = *most
	if kind == "" {
		b.Tries = 2
	}
	return b
}

// kind is a kind of random lock, and the faults that may strike one, of which each lock meets one.
type kind struct {
	make   func(seed uint64) (impls.Spec, string)
	faults []faults.Kind
}

func (k kind) struck(seed uint64) faults.Kind {
	return k.faults[rand.New(rand.NewPCG(seed, 4)).IntN(len(k.faults))]
}

func TestRandomLocks(t *testing.T) {
	testRandom(t, kind{programs.Make, []faults.Kind{"", "", "", "", "", faults.Crash, faults.Restart}})
}

func TestRichRandomLocks(t *testing.T) {
	testRandom(t, kind{programs.MakeRich, []faults.Kind{
		"", "", "", faults.Crash, faults.Restart, faults.Pause, faults.ReplyLost, faults.LateRequest, faults.Duplicate, faults.ClockJump,
	}})
}

// testRandom compares locks that nobody has thought of before. The searches, and the checker that both ask, agree about each.
func testRandom(t *testing.T, of kind) {
	t.Parallel()
	n := uint64(cmp.Or(*seeds, needs.Count(t, "random locks", 1, 8)))
	var group sync.WaitGroup
	var broken, holding, open atomic.Int64
	next := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range next {
				lock, text := of.make(seed)
				fault := of.struck(seed)
				c, err := FindPatiently(context.Background(), lock, fault, small(fault), 6)
				switch {
				case err != nil:
					t.Errorf("seed %d, %s, fault %q: %v", seed, text, fault, err)
				case len(c.Differences()) > 0 || len(c.Disputed) > 0:
					t.Errorf("seed %d, %s, fault %q: %+v, disputed %v", seed, text, fault, c.Differences(), disputed(&c))
				case c.SlowLimit != "" || c.FastLimit != "":
					open.Add(1)
					t.Logf("seed %d, %s, fault %q: %s %s", seed, text, fault, c.SlowLimit, c.FastLimit)
				case len(c.Slow) > 0:
					broken.Add(1)
				default:
					holding.Add(1)
				}
			}
		})
	}
	for seed := range n {
		next <- *first + seed
	}
	close(next)
	group.Wait()
	t.Logf("%d locks: %d broken, %d hold, %d not searched to the end (%d %%)", n, broken.Load(), holding.Load(), open.Load(), 100*open.Load()/int64(n))
	if broken.Load() == 0 && n >= 8 || holding.Load() == 0 && n >= 100 {
		t.Error("the locks are all alike")
	}
}

// disputed are the anomalies that the explorer saw and the checker did not, each once.
func disputed(c *Cell) (names []checker.Name) {
	for _, d := range c.Disputed {
		if !slices.Contains(names, d.Anomaly) {
			names = append(names, d.Anomaly)
		}
	}
	return names
}
