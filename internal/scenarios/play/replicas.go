package play

import (
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/scenarios"
)

// refusalTime bounds the wait for a server to refuse writes. Replicas report every second, whatever the lease.
const refusalTime = 20 * time.Second

// atReplicators calls do for all servers, one after the other.
func (c call) atReplicators(ctx context.Context, do func(Replicator, context.Context) error) error {
	for _, s := range c.cell.Stage.Servers() {
		replicator, ok := s.(Replicator)
		if !ok {
			return NotApplicable(NeedsReplicas)
		}
		if err := do(replicator, ctx); err != nil {
			return fmt.Errorf("the replicas of %s: %w", s.Name(), err)
		}
	}
	return nil
}

// waitRefused waits until all servers refuse writes.
func (c call) waitRefused(ctx context.Context) (scenarios.Result, error) {
	return c.poll(ctx, refusalTime, func() (bool, error) {
		refusing := true
		err := c.atReplicators(ctx, func(r Replicator, ctx context.Context) error {
			refuses, err := r.RefusesWrites(ctx)
			refusing = refusing && refuses
			return err
		})
		return err == nil && refusing, err
	})
}
