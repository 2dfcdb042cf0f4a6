package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// ShrinkPlan says which finding is to become a short script, and where that is played in the end.
type ShrinkPlan struct {
	Subject   play.Subject // with its Spec
	Events    []history.Event
	Anomalies []checker.Anomaly // one of these is to be shown
	Lease     time.Duration     // of the script
	Setting
	Within   time.Duration     // for how long scripts are looked for and made smaller; zero: for as long as it takes
	Parallel int               // how many scripts are played at a time in the live world
	Attempt  func(ShrinkState) // is told how far shrinking has come, by one goroutine at a time; nil: nobody is
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
	Cut      bool            // the time was over: smaller scripts, or other candidates, may not have been tried
}

// Shrink makes a script of a finding: it forces the order in which the commands of the history reached the servers. The script must show
// the anomaly in the model; what it does not need for that is left out there. In the live world it must then show it on a server, too.
// Of a foreign client's lock there is no model: all its scripts are played on a server.
func Shrink(ctx context.Context, plan ShrinkPlan) (_ *Shrunk, err error) {
	plan.Timeout = max(time.Minute, 20*plan.Lease+10*time.Second)
	s := &shrinker{plan: plan, attempts: attempts{tell: plan.Attempt}, contract: storm.ContractOf(*plan.Subject.Spec), began: time.Now()}
	if plan.Subject.Argv == nil {
		model, err := Setting{World: Sim, Timeout: plan.Timeout}.open(ctx, "")
		if err != nil {
			return nil, err
		}
		s.model = &Runner{World: model}
	}
	if plan.World != Sim {
		world, err := plan.open(ctx, "", Plan{Cases: []Case{{Subject: plan.Subject}}}.sends()...)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, world.Close()) }()
		s.live = &Runner{World: world}
	}
	out, err := s.fromHistory(ctx)
	if out == nil && err == nil && s.model != nil {
		out, err = s.smallest(ctx)
	}
	if out == nil {
		out = &Shrunk{}
	}
	out.Tried, out.Played, out.Cut = s.vain, s.state.Played, s.late()
	return out, err
}

// AnomaliesToShow are those of a verdict that a script may show: those of a name, empty for all; if some of them break a promise, only these.
func AnomaliesToShow(v checker.Verdict, name string) []checker.Anomaly {
	var found, beyond []checker.Anomaly
	for _, a := range v.Anomalies {
		switch {
		case name != "" && string(a.Name) != name:
		case a.Beyond == "":
			found = append(found, a)
		default:
			beyond = append(beyond, a)
		}
	}
	if len(found) > 0 {
		return found
	}
	return beyond
}

// shrinker plays scripts.
type shrinker struct {
	attempts
	plan     ShrinkPlan
	model    *Runner // nil: there is none of the lock
	live     *Runner // nil: the model's word is enough
	contract storm.Contract
	began    time.Time
	rounds   int // plays that were begun
}

// late says whether the time for making scripts smaller is over.
func (s *shrinker) late() bool { return s.plan.Within > 0 && time.Since(s.began) >= s.plan.Within }

// attempts counts what shrinking has tried, and reports it.
type attempts struct {
	tell func(ShrinkState) // may be nil
	vain []string          // what was tried in vain

	mu    sync.Mutex // several scripts are played at a time
	state ShrinkState
}

// try names the candidate that is tried next.
func (a *attempts) try(format string, args ...any) {
	a.change(func(s *ShrinkState) { s.Candidate = fmt.Sprintf(format, args...) })
}

// ended counts a play.
func (a *attempts) ended() {
	a.change(func(s *ShrinkState) { s.Played++ })
}

func (a *attempts) inVain(of checker.Anomaly, format string, args ...any) {
	why := fmt.Sprintf("%s at %.3fs: %s", of.Name, of.At.Seconds(), fmt.Sprintf(format, args...))
	a.vain = append(a.vain, why)
	a.change(func(s *ShrinkState) { s.Rejected = why })
}

func (a *attempts) change(how func(*ShrinkState)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	how(&a.state)
	if a.tell != nil {
		a.tell(a.state)
	}
	a.state.Rejected = ""
}

// candidate is a script that is to show an anomaly.
type candidate struct {
	script  *scenarios.Script
	anomaly checker.Anomaly
}

// fromHistory finds a script that forces what the history has, and makes it as small as it can; nil if none shows an anomaly.
func (s *shrinker) fromHistory(ctx context.Context) (*Shrunk, error) {
	byHandles := map[bool][]reproduce.Reading{}
	for _, how := range reproduce.Readings(*s.plan.Subject.Spec, s.plan.Events) {
		byHandles[how.Handles] = append(byHandles[how.Handles], how)
	}
	for _, handles := range []bool{false, true} { // what handles share makes stories longer
		for batch := range slices.Chunk(s.candidates(byHandles[handles]), s.atOnce()) {
			if s.late() {
				return nil, nil
			}
			if shrunk, err := s.fromBatch(ctx, batch); shrunk != nil || err != nil {
				return shrunk, err
			}
		}
	}
	return nil, nil
}

// atOnce is how many candidates are tried at a time: in the model one, since the first mostly will do, and on a server as many as may be played.
func (s *shrinker) atOnce() int {
	if s.model != nil {
		return 1
	}
	return max(1, s.plan.Parallel)
}

// fromBatch makes the first of some candidates that shows its anomaly as small as it can; nil if none does.
func (s *shrinker) fromBatch(ctx context.Context, batch []candidate) (*Shrunk, error) {
	if len(batch) > 1 {
		s.try("%d scripts of what was found", len(batch))
	} else {
		s.try("%s at %.3fs, a script of %s", batch[0].anomaly.Name, batch[0].anomaly.At.Seconds(), steps(len(batch[0].script.Steps)))
	}
	showing, err := s.showing(ctx, batch)
	if err != nil {
		return nil, err
	}
	for _, c := range showing {
		if shrunk, err := s.shrink(ctx, c); shrunk != nil || err != nil {
			return shrunk, err
		}
	}
	return nil, nil
}

// candidates are the scripts of the anomalies, each once: first those of what a lock did, then those of what came of it, and short ones
// first.
func (s *shrinker) candidates(readings []reproduce.Reading) []candidate {
	var all []candidate
	known := map[string]bool{}
	for _, a := range s.plan.Anomalies {
		s.try("scripts of %s at %.3fs", a.Name, a.At.Seconds())
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
	t, err := reproduce.FromHistory(*s.plan.Subject.Spec, s.plan.Events, a, how)
	if err != nil {
		return candidate{}, err
	}
	script, err := reproduce.Script(*s.plan.Subject.Spec, t)
	if err != nil {
		return candidate{}, err
	}
	script.Name, script.Title, script.Source = "race", fmt.Sprintf("%s of %s, as a storm found it.", a.Name, s.plan.Subject.Name), "lab shrink"
	script.About = nil
	for i := range script.Steps { // what its operations come to is the lock's affair
		script.Steps[i].Want = nil
	}
	waits := slices.ContainsFunc(script.Steps, func(step scenarios.Step) bool { return step.Verb == scenarios.VerbWaitFor })
	if script.Servers == 0 && !waits { // on several servers, a lock measures by its lease how long it waits for each
		script.Lease = s.plan.Lease
	}
	return candidate{script, a}, nil
}

// shrink leaves out what a script does not need, and plays what is left in the model and on a server; nil if it does not show its anomaly there.
func (s *shrinker) shrink(ctx context.Context, c candidate) (*Shrunk, error) {
	s.try("%s at %.3fs, made smaller from %s", c.anomaly.Name, c.anomaly.At.Seconds(), steps(len(c.script.Steps)))
	small, err := reproduce.Shrink(c.script, func(scripts []*scenarios.Script) ([]bool, error) { return s.smaller(ctx, scripts, c.anomaly) })
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
	out := &Shrunk{Script: c.script, Anomaly: c.anomaly, From: len(c.script.Steps)}
	for _, world := range []struct {
		where *Runner
		shown *int
	}{{s.model, &out.InModel}, {s.live, &out.OnServer}} {
		if world.where == nil {
			continue
		}
		if ok, err := s.valid(ctx, world.where, c); !ok || err != nil {
			return nil, err
		}
		*world.shown = sure
	}
	return out, nil
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
