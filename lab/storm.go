package lab

import (
	"context"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	internal "github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// Storms are random faults at random times on busy clients, planned from a seed. A lock is judged by the promises of its card.
type Storms struct {
	Locks    []impls.Spec
	Seed     int64            // of the first storm of each lock; the next have the seeds that follow
	Repeat   int              // storms of each lock; zero: one
	Clients  int              // zero: five
	For      time.Duration    // how long faults strike; zero: a minute
	Lease    time.Duration    // zero: a second, or the shortest that the lock's card allows
	Faults   []faults.Kind    // the mixture; nil: the usual one; empty: no faults
	Workload history.Workload // the work under the lock; empty: a counter
}

// RunStorms runs storms, in the live world. The run has a cell for each, by lock and seed.
func RunStorms(ctx context.Context, storms Storms, opts Options) (*Run, error) {
	if opts.World != "" && opts.World != Live {
		return nil, errWorld(opts.World)
	}
	mixture := storms.Faults
	if mixture == nil {
		mixture = storm.Defaults()
	}
	run, err := internal.Storm(ctx, internal.StormPlan{
		Subjects: internal.Subjects(storms.Locks...),
		Params:   storm.Params{Seed: storms.Seed, Clients: storms.Clients, For: storms.For, Lease: storms.Lease, Faults: mixture},
		Storms:   storms.Repeat,
		Workload: storms.Workload,
		Options:  opts.in(Live),
	})
	return newRun(run), err
}
