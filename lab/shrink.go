package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/scenarios/shrink"
	"github.com/locklab/locklab/scenarios/storm"
)

// ShrinkPlan says which finding is to become a short script, and where scripts are tried.
type ShrinkPlan struct {
	Subject   play.Subject // with its Spec
	Events    []history.Event
	Anomalies []checker.Anomaly // one of these is to be shown
	Lease     time.Duration     // of the script
	Setting
	Parallel int          // how many scripts are tried at a time
	Say      func(string) // is told how it goes on; nil: nobody is
}

// Shrunk is what came of shrinking.
type Shrunk struct {
	Script *scenarios.Script // nil: none shows one of the anomalies
	Tried  []string          // what was tried in vain
}

// Shrink writes a script that forces the order in which the commands of a history reached the server, plays it, and leaves out what is not
// needed to show the same anomaly.
func Shrink(ctx context.Context, plan ShrinkPlan) (_ *Shrunk, err error) {
	plan.Timeout = 20*plan.Lease + 10*time.Second
	world, err := plan.open(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	s := &shrinker{ShrinkPlan: plan, runner: Runner{World: world}, contract: storm.ContractOf(*plan.Subject.Spec)}
	script, err := s.shrink(ctx)
	return &Shrunk{script, s.tried}, err
}

// shrinker plays scripts.
type shrinker struct {
	ShrinkPlan
	runner   Runner
	contract storm.Contract
	played   int
	tried    []string
}

func (s *shrinker) say(format string, args ...any) {
	if s.Say != nil {
		s.Say(fmt.Sprintf(format, args...))
	}
}

// shrink finds a script that shows one of the anomalies, and makes it as small as it can; nil if none shows one.
func (s *shrinker) shrink(ctx context.Context) (*scenarios.Script, error) {
	scripts := make(map[*scenarios.Script]checker.Anomaly)
	var all []*scenarios.Script
	for _, a := range s.Anomalies {
		script, err := shrink.Script(s.Events, a, shrink.Options{
			Name: "race", Title: fmt.Sprintf("%s of %s, as a storm found it.", a.Name, s.Subject.Name), Lease: s.Lease, Renews: s.contract.Renews,
		})
		if err != nil {
			s.tried = append(s.tried, fmt.Sprintf("%s at %.3fs: no script can tell it (%s)", a.Name, a.At.Seconds(), firstLine(err)))
			continue
		}
		scripts[script] = a
		all = append(all, script)
	}
	slices.SortStableFunc(all, func(a, b *scenarios.Script) int {
		return cmp.Or(consequence(scripts[a])-consequence(scripts[b]), len(a.Steps)-len(b.Steps))
	})
	for _, script := range all {
		a := scripts[script]
		name := a.Name
		s.say("%s in %d steps?", name, len(script.Steps))
		verdicts, err := s.play(ctx, []*scenarios.Script{script})
		if err != nil {
			return nil, err
		}
		if !same(verdicts[0], a) {
			s.tried = append(s.tried, fmt.Sprintf("%s at %.3fs, by a script of %d steps, which came to: %s",
				name, a.At.Seconds(), len(script.Steps), verdicts[0]))
			continue
		}
		return shrink.Shrink(script, func(scripts []*scenarios.Script) ([]bool, error) { return s.shows(ctx, a, scripts) })
	}
	return nil, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// consequence ranks what a lock did before what came of it.
func consequence(a checker.Anomaly) int {
	switch a.Name {
	case checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate:
		return 1
	}
	return 0
}

// tries is how often a script is played on a host that stalls before it counts as one that shows nothing.
const tries = 3

// sure is how often a script must show the anomaly, one time after the other, to count.
const sure = 3

// shows plays scripts and says which of them show an anomaly.
func (s *shrinker) shows(ctx context.Context, a checker.Anomaly, scripts []*scenarios.Script) ([]bool, error) {
	verdicts, err := s.play(ctx, slices.Repeat(scripts, sure))
	if err != nil {
		return nil, err
	}
	shown := make([]bool, len(scripts))
	best := -1
	for i := range scripts {
		shown[i] = true
		for k := i; k < len(verdicts); k += len(scripts) {
			shown[i] = shown[i] && same(verdicts[k], a)
		}
		if shown[i] && (best < 0 || len(scripts[i].Steps) < len(scripts[best].Steps)) {
			best = i
		}
	}
	if best >= 0 {
		s.say("%s in %d steps of %d clients", a.Name, len(scripts[best].Steps), len(scripts[best].Clients))
	}
	return shown, nil
}

// same says whether a verdict has the anomaly: of the same name, and the lock's own doing if it was that.
func same(v checker.Verdict, a checker.Anomaly) bool {
	return slices.ContainsFunc(v.Anomalies, func(b checker.Anomaly) bool {
		return b.Name == a.Name && (b.Beyond == "" || a.Beyond != "")
	})
}

// play plays scripts at the same time.
func (s *shrinker) play(ctx context.Context, scripts []*scenarios.Script) ([]checker.Verdict, error) {
	verdicts := make([]checker.Verdict, len(scripts))
	var again []int
	for i := range scripts {
		again = append(again, i)
	}
	for range tries {
		cases := make([]Case, len(again))
		for n, i := range again {
			s.played++
			cases[n] = Case{Subject: s.Subject, Script: scripts[i], Round: s.played}
		}
		stalled, err := s.judge(ctx, cases, verdicts, again)
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
func (s *shrinker) judge(ctx context.Context, cases []Case, verdicts []checker.Verdict, places []int) (stalled []int, err error) {
	spoilt := make([]bool, len(cases))
	ended, err := runAll(ctx, cases, order{parallel: s.Parallel}, silent{}, func(ctx context.Context, cs Case) checker.Cell {
		cell, events := s.runner.run(ctx, cs)
		i := cs.Round - cases[0].Round
		_, spoilt[i] = stalledBy(events)
		cell.Verdict, _ = storm.Conclude(events, s.contract, checker.Storm{})
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
