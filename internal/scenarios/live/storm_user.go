package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// user uses the lock of one handle, turn after turn.
type user struct {
	storm  *stormRunner
	peer   *peer
	handle *play.Handle
	turns  *storm.Turns
	mu     sync.Mutex
	died   chan struct{} // closed before the client is killed
}

// die prevents further operations: no operation may be invoked after the record of its client's end.
func (u *user) die() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.handle.Client.Doom()
	close(u.died)
}

// processUsers are the users of the locks of one process.
type processUsers []*user

func (h processUsers) die() {
	for _, u := range h {
		u.die()
	}
}

// begin sends the request of a step.
func (u *user) begin(step *scenarios.Step) (*play.Operation, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.handle.Client.Crashed() {
		return nil, errDied
	}
	return u.handle.Begin(step)
}

// use takes turns until the storm is over or the client dies.
func (u *user) use(ctx context.Context) error {
	for {
		turn := u.turns.Next()
		if u.storm.cell.run.Traits.Renews && turn.Long > 0 {
			turn.Hold = turn.Long
		}
		if _, err := u.turn(ctx, turn); err != nil {
			if errors.Is(err, errDied) {
				return nil
			}
			return err
		}
		if !u.rest(ctx, turn.Rest) {
			return nil
		}
	}
}

// rest waits for d. It returns false if the client must stop.
func (u *user) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !u.storm.isOver()
	case <-u.died:
	case <-u.storm.over:
	case <-ctx.Done():
	}
	return false
}

// turn acquires the lock, renews it, works and releases it. After a loss notice, or a renewal that was not answered ok, it begins no more work.
func (u *user) turn(ctx context.Context, turn storm.Turn) (got bool, err error) {
	outcome, err := u.do(ctx, &scenarios.Step{Op: history.OpAcquire, Within: scenarios.Span{Fixed: turn.Within}}, turn.Within+turn.Patience)
	if err != nil || outcome != history.OK {
		return got, err
	}
	got = true
	u.peer.notice(storm.Holder)
	if sure, err := u.renew(ctx, turn); err != nil {
		return got, err
	} else if !sure {
		return got, u.release(ctx)
	}
	for range turn.Works {
		u.rest(ctx, turn.Hold/time.Duration(turn.Works))
		if u.handle.Lost.Load() {
			break
		}
		if _, err := u.do(ctx, &scenarios.Step{Op: history.OpWork}, turn.Patience); err != nil {
			return got, err
		}
	}
	if turn.Check && u.storm.cell.run.Traits.Can(protocol.Check) && !u.handle.Lost.Load() {
		if _, err := u.do(ctx, &scenarios.Step{Op: history.OpCheck}, turn.Patience); err != nil {
			return got, err
		}
	}
	return got, u.release(ctx)
}

// renew renews the lock by hand, if its client can, and says whether the client may still count on it.
func (u *user) renew(ctx context.Context, turn storm.Turn) (sure bool, err error) {
	if !u.storm.cell.run.Traits.Can(protocol.Renew) {
		return true, nil
	}
	for range turn.Renewals {
		u.rest(ctx, u.storm.Plan.Lease/3)
		if u.handle.Lost.Load() {
			return false, nil
		}
		outcome, err := u.do(ctx, &scenarios.Step{Op: history.OpRenew}, turn.Patience)
		if err != nil || outcome != history.OK {
			return false, err
		}
	}
	return true, nil
}

// The bounds of a release: on its tries, and on the leases for which tries wait for an answer once the storm is over. A lock that has not
// answered by then never does.
const (
	maxReleases   = 100
	releaseLeases = 5
)

// release releases the lock, and retries while the outcome is unknown. Each try lasts longer than a lease, by when any lock has stopped
// waiting.
func (u *user) release(ctx context.Context) error {
	lease := u.storm.Plan.Lease
	patience := lease * 5 / 4
	var waited time.Duration
	for tries := 0; tries < maxReleases && waited < releaseLeases*lease; tries++ {
		began, over := time.Now(), u.storm.isOver()
		outcome, err := u.do(ctx, &scenarios.Step{Op: history.OpRelease, Within: scenarios.Span{Fixed: patience}}, patience)
		if err != nil || outcome != history.Unknown {
			return err
		}
		if over {
			waited += time.Since(began)
		}
		if err := sleep(ctx, lease/20); err != nil {
			return err
		}
	}
	return nil
}

// do runs an operation and waits for its answer. After patience it cancels the operation, if the client can: the faults of a storm end by
// themselves.
func (u *user) do(ctx context.Context, step *scenarios.Step, patience time.Duration) (history.Outcome, error) {
	step.Verb = scenarios.VerbOp
	u.storm.asked.Add(1)
	op, err := u.begin(step)
	if err != nil {
		return 0, u.fate(err)
	}
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for {
		select {
		case <-op.Done():
			if op.Answer().Unsupported {
				return 0, unsupported(u.handle.Name, verbs[op.Op])
			}
			return op.Answer().Outcome, nil
		case <-u.peer.worker.Conn.Done():
			if !op.Answered() {
				return 0, u.fate(nil)
			}
		case <-enough.C:
			if u.storm.cell.run.Traits.Library.NoCancel {
				continue
			}
			op.GiveUp()
			if _, err := u.peer.send(protocol.Request{ID: u.storm.cell.run.NextID(), Do: protocol.Cancel, Op: op.ID}); err != nil {
				return 0, u.fate(err)
			}
		case <-ctx.Done():
			return 0, play.Undecided("%s did not answer %v: %v", u.handle.Name, op.Op, context.Cause(ctx))
		}
	}
}

// fate is why a client's connection ended: the storm killed it, or it failed.
func (u *user) fate(err error) error {
	switch {
	case u.handle.Client.Crashed():
		return errDied
	case err != nil:
		return err
	}
	return u.peer.gone()
}
