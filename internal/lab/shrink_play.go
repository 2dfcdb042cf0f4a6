package lab

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// tries is how often a script is played on a host that stalls before it counts as one that shows nothing.
const tries = 3

// sure is how often a script must show the anomaly in the model and on a server, each time, to count.
const sure = 3

// same says whether a verdict has the anomaly: of the same name, and the lock's own doing if it was that.
func same(v checker.Verdict, a checker.Anomaly) bool {
	return slices.ContainsFunc(v.Anomalies, func(b checker.Anomaly) bool {
		return b.Name == a.Name && (b.Beyond == "" || a.Beyond != "")
	})
}

// searched is the world in which candidates are tried and made smaller.
func (s *shrinker) searched() *Runner {
	if s.model != nil {
		return s.model
	}
	return s.live
}

// showing are the candidates whose scripts show their anomaly, each played once.
func (s *shrinker) showing(ctx context.Context, all []candidate) ([]candidate, error) {
	scripts := make([]*scenarios.Script, len(all))
	for i, c := range all {
		scripts[i] = c.script
	}
	verdicts, err := s.inTime(ctx, scripts)
	if verdicts == nil || err != nil {
		return nil, err
	}
	var showing []candidate
	for i, c := range all {
		if same(verdicts[i], c.anomaly) {
			showing = append(showing, c)
		} else {
			s.reject(s.searched(), c, verdicts[i])
		}
	}
	return showing, nil
}

// smaller says which scripts show an anomaly: one play in the model settles that, on a server each of several must show it. When the time is over, none
// counts, so that nothing more is left out.
func (s *shrinker) smaller(ctx context.Context, scripts []*scenarios.Script, a checker.Anomaly) ([]bool, error) {
	plays := 1
	if s.model == nil {
		plays = sure
	}
	shown := make([]bool, len(scripts))
	left := make([]int, len(scripts)) // those that have shown it so far
	for i := range scripts {
		left[i] = i
	}
	for range plays {
		if len(left) == 0 {
			break
		}
		batch := make([]*scenarios.Script, len(left))
		for n, i := range left {
			batch[n] = scripts[i]
		}
		verdicts, err := s.inTime(ctx, batch)
		if verdicts == nil || err != nil {
			return shown, err
		}
		var still []int
		for n, i := range left {
			if same(verdicts[n], a) {
				still = append(still, i)
			}
		}
		left = still
	}
	for _, i := range left {
		shown[i] = true
	}
	return shown, nil
}

// inTime plays scripts in the world that is searched, and returns nil where the time is over before all have ended.
func (s *shrinker) inTime(ctx context.Context, scripts []*scenarios.Script) ([]checker.Verdict, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if s.plan.Within > 0 {
		bounded, cancel = context.WithDeadline(ctx, s.began.Add(s.plan.Within))
	}
	defer cancel()
	verdicts, err := s.play(bounded, s.searched(), scripts)
	if bounded.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return verdicts, err
}

// valid says whether each of the plays of a script in a world shows its anomaly.
func (s *shrinker) valid(ctx context.Context, where *Runner, c candidate) (bool, error) {
	verdicts, err := s.play(ctx, where, slices.Repeat([]*scenarios.Script{c.script}, sure))
	if err != nil {
		return false, err
	}
	for _, v := range verdicts {
		if !same(v, c.anomaly) {
			s.reject(where, c, v)
			return false, nil
		}
	}
	return true, nil
}

// reject notes that a script did not show its anomaly in a world.
func (s *shrinker) reject(where *Runner, c candidate, v checker.Verdict) {
	world := "in the model"
	if where == s.live {
		world = "on a server"
	}
	s.inVain(c.anomaly, "a script of %s came to %s %s", steps(len(c.script.Steps)), v, world)
}

// play plays scripts at the same time.
func (s *shrinker) play(ctx context.Context, where *Runner, scripts []*scenarios.Script) ([]checker.Verdict, error) {
	verdicts := make([]checker.Verdict, len(scripts))
	var again []int
	for i := range scripts {
		again = append(again, i)
	}
	for range tries {
		cases := make([]Case, len(again))
		for n, i := range again {
			s.rounds++
			cases[n] = Case{Subject: s.plan.Subject, Script: scripts[i], Round: s.rounds}
		}
		stalled, err := s.judge(ctx, where, cases, verdicts, again)
		if err != nil {
			return nil, err
		}
		if again = stalled; len(again) == 0 {
			break
		}
	}
	return verdicts, nil
}

// judge plays cases and puts their verdicts in place. It returns the places of those that a stall of the host has spoilt.
func (s *shrinker) judge(ctx context.Context, where *Runner, cases []Case, verdicts []checker.Verdict, places []int) (stalled []int, err error) {
	parallel := runtime.NumCPU()
	if where != s.model {
		parallel = max(1, s.plan.Parallel)
	}
	spoilt := make([]bool, len(cases))
	ended, err := runAll(ctx, cases, order{parallel: parallel}, silent{}, func(ctx context.Context, cs Case) record.Cell {
		cell, events := where.run(ctx, cs)
		i := cs.Round - cases[0].Round
		_, spoilt[i] = stalledBy(events)
		cell.Verdict = storm.ByPromises(events, s.contract, false)
		s.ended()
		return cell
	})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for n, place := range places {
		if ended[n].Failure != "" {
			return nil, errors.New(ended[n].Failure)
		}
		verdicts[place] = ended[n].Verdict
		if spoilt[n] {
			stalled = append(stalled, place)
		}
	}
	return stalled, nil
}
