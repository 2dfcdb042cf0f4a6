package sim

import (
	"context"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// program is what one client does during a schedule, and how far it has come.
type program struct {
	schedule *schedule
	guest    *guest
	handle   *play.Handle
	priority int

	ahead    []scenarios.Step
	op       *play.Operation // in flight; nil: none
	rests    time.Duration   // until when it does nothing
	patience time.Duration   // until when it waits for the operation
	gaveUp   bool
	retries  int // of releases
}

// mostRetries bounds the releases after an unknown outcome.
const mostRetries = 3

func (s *schedule) newProgram(g *guest, client *play.Client) *program {
	p := &program{schedule: s, guest: g, handle: client.Handles[0], priority: s.choose.priority()}
	for range s.Turns {
		p.ahead = append(p.ahead, s.choose.turn(s)...)
	}
	return p
}

// opStep is a step of a program.
func opStep(op history.Op, within time.Duration) scenarios.Step {
	return scenarios.Step{Verb: scenarios.VerbOp, Op: op, Within: scenarios.Span{Fixed: within}}
}

func (p *program) ended() bool {
	p.learn()
	return p.op == nil && len(p.ahead) == 0
}

// ready says whether it can begin its next operation.
func (p *program) ready(now time.Duration) bool { return !p.ended() && p.op == nil && now >= p.rests }

// begin begins the next operation.
func (p *program) begin() {
	step := p.ahead[0]
	p.ahead = p.ahead[1:]
	op, err := p.handle.Begin(&step)
	if err != nil {
		p.schedule.bubble.cell.broken = err
		return
	}
	p.op, p.gaveUp = op, false
	p.patience = p.schedule.bubble.Now() + op.Within + p.schedule.choose.patience(p.schedule)
}

// learn takes in the answer to the operation, and chooses what is next.
func (p *program) learn() {
	s := p.schedule
	if p.op == nil || !p.op.Answered() {
		return
	}
	op := p.op
	p.op = nil
	p.handle.Learn(op.Op, op.Answer().Outcome, false)
	if op.Op == history.OpRelease && op.Answer().Outcome == history.Unknown && p.retries < mostRetries {
		p.retries++
		p.ahead = append([]scenarios.Step{opStep(history.OpRelease, 0)}, p.ahead...)
	}
	for len(p.ahead) > 0 && !p.handle.May(p.ahead[0].Op) {
		p.ahead = p.ahead[1:]
	}
	p.rests = s.bubble.Now() + s.choose.rest(s)
}

// giveUp cancels the operation. Work is not given up: what arrives of it later would be the client's fault, not the lock's.
func (p *program) giveUp() {
	if p.gaveUp || p.op.Op == history.OpWork {
		return
	}
	p.gaveUp = true
	p.op.GiveUp()
	_ = p.guest.Cancel(context.Background(), p.op) // it has no error
}

// lastTurn lets the operation in flight end, and releases what is held. Then the client must get the lock once more, within three leases.
func (p *program) lastTurn(ctx context.Context) error {
	p.ahead = nil
	if err := p.await(ctx); err != nil {
		return err
	}
	lease := p.schedule.Lease
	for _, step := range []scenarios.Step{
		opStep(history.OpRelease, 0), opStep(history.OpAcquire, 3*lease), opStep(history.OpWork, 0), opStep(history.OpRelease, 0),
	} {
		if !p.handle.May(step.Op) {
			continue
		}
		p.ahead = []scenarios.Step{step}
		p.begin()
		if err := p.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// await waits for the answer to the operation, and gives it up after its patience.
func (p *program) await(ctx context.Context) error {
	if p.op == nil {
		return nil
	}
	s := p.schedule
	answered, err := s.bubble.Until(ctx, max(0, p.patience-s.bubble.Now()), p.op.Answered)
	if err != nil {
		return err
	}
	if !answered {
		p.giveUp()
		if _, err := s.bubble.Until(ctx, play.Ever, p.op.Answered); err != nil {
			return play.Undecided("%s did not come back from its %v: %v", p.handle.Name, p.op.Op, err)
		}
	}
	p.learn()
	p.ahead = nil
	return nil
}
