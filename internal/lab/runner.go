package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// World is where cells are played: live.World or sim.World.
type World interface {
	Play(ctx context.Context, subject play.Subject, script *scenarios.Script, dir string) (play.Played, error)
	ServerVersion() string
	ToxiproxyVersion() string
	Close() error
}

// stormWorld is a World that plays storms.
type stormWorld interface {
	Storm(ctx context.Context, subject play.Subject, s live.Storm, dir string) (play.Played, error)
}

// writingWorld is a World that writes histories as they happen, below a directory.
type writingWorld interface{ Dir() string }

// Runner runs cells in a world and judges them.
type Runner struct {
	World World
	// Keep keeps the history of a cell in a world that writes none; nil: nobody wants it.
	Keep func(cell record.Cell, header history.Header, events []history.Event) error
	// Elsewhere: this is a setting that nobody reviewed, such as a server at an address. What is n/a there is news.
	Elsewhere bool
}

// slowest is how many times slower than written a script is played at most.
const slowest = 4

// Run plays a case and judges it. ctx ends the cell early.
//
// If the host stalled meanwhile, for so long that a lease may have ended which should not have, the record says nothing about the lock.
// The case is then played again, twice as slow: only a stall of twice the length could spoil it again. How long the host stalled decides
// that; what the judges would find never does.
func (r Runner) Run(ctx context.Context, cs Case) record.Cell {
	cell, _ := r.run(ctx, cs)
	return cell
}

// run also returns the history.
func (r Runner) run(ctx context.Context, cs Case) (record.Cell, []history.Event) {
	started := time.Now()
	out := cs.Planned()
	script := cs.Script
	var played play.Played
	var err error
	for slower := 1; ; slower *= 2 {
		cs.Script = script.Slower(slower)
		played, err = r.play(ctx, cs, out.Dir)
		why, stalled := stalledBy(played.Events)
		if !stalled || err != nil || slower == slowest || ctx.Err() != nil {
			break
		}
		out.Stalls = append(out.Stalls, why)
		if err = r.setAside(out.Dir, len(out.Stalls)); err != nil {
			break
		}
	}
	out = Settled(out, played.Events, r.Elsewhere, false)
	if err != nil {
		out.Failure, out.Interrupted = err.Error(), false
		out.Verdict = checker.Verdict{Kind: checker.Undecided, Reason: out.Failure}
	}
	out.Took = time.Since(started)
	if _, writes := r.World.(writingWorld); !writes && r.Keep != nil && out.Failure == "" {
		if err := r.Keep(out, played.Header, played.Events); err != nil {
			out.Failure = err.Error()
		}
	}
	return out, played.Events
}

func (r Runner) play(ctx context.Context, cs Case, dir string) (play.Played, error) {
	if cs.Storm == nil {
		return r.World.Play(ctx, cs.Subject, cs.Script, dir)
	}
	world, ok := r.World.(stormWorld)
	if !ok {
		return play.Played{}, fmt.Errorf("this world has no storms")
	}
	return world.Storm(ctx, cs.Subject, live.Storm{
		Plan: cs.Storm, Script: cs.Script, Progress: cs.GoesOn,
		Queues: slices.Contains(storm.ContractIn(cs.Expected).Promises, impls.Fairness) || cs.Subject.Spec != nil && cs.Subject.Spec.Queues(),
	}, dir)
}

// setAside renames the history of a cell that is played again.
func (r Runner) setAside(dir string, stalls int) error {
	world, writes := r.World.(writingWorld)
	if !writes {
		return nil
	}
	dir = filepath.Join(world.Dir(), dir)
	return os.Rename(filepath.Join(dir, play.HistoryFile), filepath.Join(dir, fmt.Sprintf("stalled-%d.jsonl", stalls)))
}

// stalledBy says how a stall spoilt a record, if one did.
func stalledBy(events []history.Event) (why string, stalled bool) {
	if len(events) == 0 {
		return "", false
	}
	end := events[len(events)-1]
	if end.Kind != history.KindEnd || end.Detail.Text != history.EndedStalled {
		return "", false
	}
	return end.Detail.Why, true
}
