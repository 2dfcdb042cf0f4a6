package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/scenarios/reproduce"
	"github.com/locklab/locklab/scenarios/storm"
	"github.com/locklab/locklab/sim/explore"
	"github.com/locklab/locklab/sim/trace"
)

// ShrinkPlan says which finding is to become a short script, and where that is played in the end.
type ShrinkPlan struct {
	Subject   play.Subject // with its Spec
	Events    []history.Event
	Anomalies []checker.Anomaly // one of these is to be shown
	Lease     time.Duration     // of the script
	Setting
	Parallel int               // how many scripts are played at a time in the live world
	Attempt  func(ShrinkState) // is told how far shrinking has come, by one goroutine; nil: nobody is
}

// ShrinkState is how far shrinking has come.
type ShrinkState struct {
	Candidate string // what is tried now
	Rejected  string // why a candidate was given up just now; mostly empty
	Played    int    // scripts so far
}

// Shrunk is what came of shrinking.
type Shrunk struct {
	Script *scenarios.Script // nil: none shows one of the anomalies
	// Smallest: the script is not the history's own schedule, which could not be forced, but the smallest that shows the same anomaly of
	// the same lock, as the explorer finds it.
	Smallest bool
	Anomaly  checker.Anomaly // of the history; the script shows one of the same name
	From     int             // steps of the script before it was made smaller
	Played   int             // scripts that were played on the way
	InModel  int             // the last plays of the script in the model, each of which showed the anomaly
	OnServer int             // the same on a server; 0 if only the model was asked
	Tried    []string        // what was tried in vain
}

// notForced is what the script of a smallest schedule says of itself.
const notForced = "The storm's own schedule could not be forced; this is the smallest schedule that shows the same anomaly."

// Shrink makes a script of a finding: it forces the order in which the commands of the history reached the servers. The script must show
// the anomaly in the model; what it does not need for that is left out there. In the live world it must then show it on a server, too.
func Shrink(ctx context.Context, plan ShrinkPlan) (_ *Shrunk, err error) {
	plan.Timeout = max(time.Minute, 20*plan.Lease+10*time.Second)
	s := &shrinker{ShrinkPlan: plan, contract: storm.ContractOf(*plan.Subject.Spec)}
	model, err := Setting{World: Sim, Timeout: plan.Timeout}.open(ctx, "")
	if err != nil {
		return nil, err
	}
	s.model = &Runner{World: model}
	if plan.World != Sim {
		world, err := plan.open(ctx, "")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, world.Close()) }()
		s.live = &Runner{World: world}
	}
	out, err := s.fromHistory(ctx)
	if out == nil && err == nil {
		out, err = s.smallest(ctx)
	}
	if out == nil {
		out = &Shrunk{}
	}
	out.Tried, out.Played = s.tried, s.played
	return out, err
}

// shrinker plays scripts.
type shrinker struct {
	ShrinkPlan
	model    *Runner
	live     *Runner // nil: the model's word is enough
	contract storm.Contract
	played   int
	trying   string
	tried    []string
}

// try names the candidate that is tried next.
func (s *shrinker) try(format string, args ...any) {
	s.trying = fmt.Sprintf(format, args...)
	s.tell("")
}

func (s *shrinker) tell(rejected string) {
	if s.Attempt != nil {
		s.Attempt(ShrinkState{Candidate: s.trying, Rejected: rejected, Played: s.played})
	}
}

func (s *shrinker) inVain(a checker.Anomaly, format string, args ...any) {
	why := fmt.Sprintf("%s at %.3fs: %s", a.Name, a.At.Seconds(), fmt.Sprintf(format, args...))
	s.tried = append(s.tried, why)
	s.tell(why)
}

// candidate is a script that is to show an anomaly.
type candidate struct {
	script  *scenarios.Script
	anomaly checker.Anomaly
}

// fromHistory finds a script that forces what the history has, and makes it as small as it can; nil if none shows an anomaly.
func (s *shrinker) fromHistory(ctx context.Context) (*Shrunk, error) {
	byHandles := map[bool][]reproduce.Reading{}
	for _, how := range reproduce.Readings(*s.Subject.Spec, s.Events) {
		byHandles[how.Handles] = append(byHandles[how.Handles], how)
	}
	for _, handles := range []bool{false, true} { // what handles share makes stories longer
		for _, c := range s.candidates(byHandles[handles]) {
			if shrunk, err := s.shrink(ctx, c); shrunk != nil || err != nil {
				return shrunk, err
			}
		}
	}
	return nil, nil
}

// candidates are the scripts of the anomalies, each once: first those of what a lock did, then those of what came of it, and short ones
// first.
func (s *shrinker) candidates(readings []reproduce.Reading) []candidate {
	var all []candidate
	known := map[string]bool{}
	for _, a := range s.Anomalies {
		for _, how := range readings {
			c, err := s.candidate(a, how)
			if err != nil {
				s.inVain(a, "no script can force it (%s)", firstLine(err))
				continue
			}
			if text := string(scenarios.Format(c.script)); !known[text] {
				known[text] = true
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(consequence(a.anomaly)-consequence(b.anomaly), len(a.script.Steps)-len(b.script.Steps))
	})
	return all
}

// candidate is the script of an anomaly by one reading of the history.
func (s *shrinker) candidate(a checker.Anomaly, how reproduce.Reading) (candidate, error) {
	t, err := reproduce.FromHistory(*s.Subject.Spec, s.Events, a, how)
	if err != nil {
		return candidate{}, err
	}
	script, err := reproduce.Script(*s.Subject.Spec, t)
	if err != nil {
		return candidate{}, err
	}
	script.Name, script.Title, script.Source = "race", fmt.Sprintf("%s of %s, as a storm found it.", a.Name, s.Subject.Name), "lab shrink"
	script.About = nil
	for i := range script.Steps { // what its operations come to is the lock's affair
		script.Steps[i].Want = nil
	}
	waits := slices.ContainsFunc(script.Steps, func(step scenarios.Step) bool { return step.Verb == scenarios.VerbWaitFor })
	if script.Servers == 0 && !waits { // on several servers, a lock measures by its lease how long it waits for each
		script.Lease = s.Lease
	}
	return candidate{script, a}, nil
}

// shrink plays a script in the model, leaves out what it does not need, and plays what is left on a server; nil if it does not show its
// anomaly.
func (s *shrinker) shrink(ctx context.Context, c candidate) (*Shrunk, error) {
	s.try("%s at %.3fs, a script of %s", c.anomaly.Name, c.anomaly.At.Seconds(), steps(len(c.script.Steps)))
	ok, err := s.valid(ctx, s.model, c, 1)
	if !ok || err != nil {
		return nil, err
	}
	small, err := reproduce.Shrink(c.script, func(scripts []*scenarios.Script) ([]bool, error) {
		verdicts, err := s.play(ctx, s.model, scripts)
		shown := make([]bool, len(scripts))
		for i := range verdicts {
			shown[i] = same(verdicts[i], c.anomaly)
		}
		return shown, err
	})
	if err != nil {
		return nil, err
	}
	for _, script := range []*scenarios.Script{small, c.script} {
		if shrunk, err := s.shown(ctx, candidate{script, c.anomaly}); shrunk != nil || err != nil {
			if shrunk != nil {
				shrunk.From = len(c.script.Steps)
			}
			return shrunk, err
		}
	}
	return nil, nil
}

// shown is what comes of a candidate if each of its plays shows the anomaly, in the model and on a server; nil if not.
func (s *shrinker) shown(ctx context.Context, c candidate) (*Shrunk, error) {
	out := &Shrunk{Script: c.script, Anomaly: c.anomaly, From: len(c.script.Steps), InModel: sure}
	if ok, err := s.valid(ctx, s.model, c, sure); !ok || err != nil {
		return nil, err
	}
	if s.live == nil {
		return out, nil
	}
	if ok, err := s.valid(ctx, s.live, c, sure); !ok || err != nil {
		return nil, err
	}
	out.OnServer = sure
	return out, nil
}

// smallest is the script of the smallest schedule that shows one of the anomalies; nil if the explorer finds none.
func (s *shrinker) smallest(ctx context.Context) (*Shrunk, error) {
	tried := map[checker.Name]bool{}
	for _, a := range s.Anomalies {
		tried[a.Name] = true
	}
	each := enoughTime / time.Duration(len(tried))
	clear(tried)
	for _, a := range s.Anomalies {
		if tried[a.Name] {
			continue
		}
		tried[a.Name] = true
		began := time.Now()
		s.try("%s by the smallest schedule of the explorer", a.Name)
		for _, budget := range budgets() {
			if time.Since(began) > each {
				s.inVain(a, "no smallest schedule was found in %v", each.Round(time.Second))
				break
			}
			t, err := s.explore(ctx, a.Name, budget)
			if err != nil {
				s.inVain(a, "not explored (%s)", firstLine(err))
				break
			}
			if t == nil {
				continue
			}
			if shrunk, err := s.validated(ctx, a, t); shrunk != nil || err != nil {
				return shrunk, err
			}
		}
	}
	return nil, context.Cause(ctx)
}

// validated is the script of a counterexample if it shows the anomaly in the model, and on a server; nil if not.
func (s *shrinker) validated(ctx context.Context, a checker.Anomaly, t *trace.Trace) (*Shrunk, error) {
	script, err := reproduce.Script(*s.Subject.Spec, t)
	if err != nil {
		s.inVain(a, "no script can force its smallest schedule (%s)", firstLine(err))
		return nil, nil
	}
	script.Name, script.About = "race", append([]string{notForced}, script.About...)
	shrunk, err := s.shown(ctx, candidate{script, a})
	if shrunk != nil {
		shrunk.Smallest = true
	}
	return shrunk, err
}

// budgets are tried in this order: no fault, one kind after the other, then what befalls clients and messages together. Faults of a
// server are nobody's bug.
func budgets() []explore.Budget {
	together := explore.Budget{}
	all := []explore.Budget{{}}
	for _, kind := range explore.Faults() {
		if kind.OnServer() {
			continue
		}
		together[kind] = 2
		all = append(all, explore.Budget{kind: 2})
	}
	return append(all, together)
}

// Bounds of each search for a smallest schedule, and of all of them together. What is that large helps nobody to understand a race.
const (
	enoughStates = 100_000
	enoughTime   = 20 * time.Second
)

// explore finds the smallest schedule that shows an anomaly within a budget; nil if there is none.
func (s *shrinker) explore(ctx context.Context, name checker.Name, budget explore.Budget) (*trace.Trace, error) {
	bounds := []explore.Config{{Clients: 2, Rounds: 1}, {Clients: 3, Rounds: 1}, {Clients: 2, Rounds: 2}}
	if s.Subject.Spec.Servers > 1 {
		bounds = []explore.Config{{Clients: 2, Rounds: 1, Servers: 3}}
	}
	for _, config := range bounds {
		config.Lock, config.Budget, config.MostFaults, config.Only = *s.Subject.Spec, budget, 2, []checker.Name{name}
		config.States, config.Time = enoughStates, enoughTime/8
		result, err := explore.Explore(ctx, config)
		if err != nil {
			return nil, err
		}
		if result.Found != nil {
			return result.Found, nil
		}
	}
	return nil, nil
}

// valid says whether a script shows its anomaly, so many times in a row.
func (s *shrinker) valid(ctx context.Context, where *Runner, c candidate, times int) (bool, error) {
	verdicts, err := s.play(ctx, where, slices.Repeat([]*scenarios.Script{c.script}, times))
	if err != nil {
		return false, err
	}
	for _, v := range verdicts {
		if !same(v, c.anomaly) {
			world := "in the model"
			if where == s.live {
				world = "on a server"
			}
			s.inVain(c.anomaly, "a script of %s came to %s %s", steps(len(c.script.Steps)), v, world)
			return false, nil
		}
	}
	return true, nil
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
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

// sure is how often a script must show the anomaly in the model and on a server, each time, to count.
const sure = 3

// same says whether a verdict has the anomaly: of the same name, and the lock's own doing if it was that.
func same(v checker.Verdict, a checker.Anomaly) bool {
	return slices.ContainsFunc(v.Anomalies, func(b checker.Anomaly) bool {
		return b.Name == a.Name && (b.Beyond == "" || a.Beyond != "")
	})
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
			s.played++
			cases[n] = Case{Subject: s.Subject, Script: scripts[i], Round: s.played}
		}
		stalled, err := s.judge(ctx, where, cases, verdicts, again)
		s.tell("")
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
		parallel = max(1, s.Parallel)
	}
	spoilt := make([]bool, len(cases))
	ended, err := runAll(ctx, cases, order{parallel: parallel}, silent{}, func(ctx context.Context, cs Case) checker.Cell {
		cell, events := where.run(ctx, cs)
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
