package explore

import (
	"cmp"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// exploreRecord is an exploration for programs.
type exploreRecord struct {
	Config   exploreConfig      `json:"config"`
	Result   exploreResult      `json:"result"`
	Steps    []exploreStep      `json:"steps,omitempty"`
	Expected points.Expectation `json:"expected"`
}

type exploreConfig struct {
	Lock         string         `json:"lock"`
	Clients      int            `json:"clients"`
	Rounds       int            `json:"rounds"`
	Tries        int            `json:"tries"`
	Servers      int            `json:"servers"`
	Reenter      int            `json:"reenter,omitempty"`
	ReleaseAgain bool           `json:"release_again,omitempty"`
	MostFaults   int            `json:"most_faults"`
	Budget       search.Budget  `json:"budget"`
	Skew         time.Duration  `json:"skew_ns"`
	ClockRate    float64        `json:"clock_rate,omitempty"`
	Lag          int            `json:"lag"`
	Only         []checker.Name `json:"only,omitempty"`
}

type exploreResult struct {
	Outcome     string         `json:"outcome"` // holds, not-shown, vacuous, broken, excused or incomplete
	Limit       string         `json:"limit,omitempty"`
	Doubt       string         `json:"doubt,omitempty"` // see search.Result
	Anomalies   []checker.Name `json:"anomalies,omitempty"`
	Excused     []excusedBreak `json:"excused,omitempty"`  // what was found beyond the promises of the lock's card
	Unstruck    []faults.Kind  `json:"unstruck,omitempty"` // of these faults nothing is known
	Faults      []faults.Kind  `json:"faults,omitempty"`
	Why         []string       `json:"why,omitempty"`
	States      int            `json:"states"`
	Longest     int            `json:"longest"`
	Runs        int            `json:"executed"` // steps of the lock's own code
	Memory      int            `json:"memory_bytes"`
	Took        time.Duration  `json:"took_ns"`
	Coverage    []string       `json:"facts"`
	Symmetric   bool           `json:"symmetric"`
	Horizon     time.Duration  `json:"horizon_ns,omitempty"`
	Assumed     []string       `json:"assumed,omitempty"`      // what a claim that nothing is wrong rests on
	TurningStep int            `json:"turning_step,omitempty"` // the number of one of the steps, from 1
}

// excusedBreak is the smallest counterexample for anomalies that the lock's card does not exclude.
type excusedBreak struct {
	Anomalies []checker.Name `json:"anomalies"`
	Faults    []faults.Kind  `json:"faults,omitempty"`
}

type exploreStep struct {
	Number  int           `json:"number"`
	At      time.Duration `json:"at_ns"`
	Kind    trace.Kind    `json:"kind"`
	Client  string        `json:"client,omitempty"`
	Server  string        `json:"server,omitempty"`
	Op      string        `json:"op,omitempty"`
	Fault   faults.Kind   `json:"fault,omitempty"`
	Request [][]string    `json:"request,omitempty"`
	Reply   string        `json:"reply,omitempty"`
	Outcome string        `json:"outcome,omitempty"`
	Passed  time.Duration `json:"passed_ns,omitempty"`
	Text    string        `json:"text"`
	Keys    []exploreKey  `json:"keys"`
	Counter int64         `json:"counter"`
	Holders []string      `json:"holders,omitempty"`
}

// exploreKey is what a server has under the lock's key.
type exploreKey struct {
	Value string        `json:"value,omitempty"`
	TTL   time.Duration `json:"ttl_ns,omitempty"`
}

func newExploreRecord(e *lab.Exploration) *exploreRecord {
	c, r := e.Config, e.Result
	rec := &exploreRecord{
		Config: exploreConfig{
			Lock: c.Lock.Name, Clients: c.Clients, Rounds: c.Rounds, Tries: c.Tries, Servers: c.ServerCount(), Reenter: c.Reenter, ReleaseAgain: c.ReleaseAgain, MostFaults: c.MostFaults,
			Budget: search.Budget{}, Skew: cmp.Or(c.Skew, search.UsualSkew), ClockRate: c.ClockRate, Lag: max(c.Lag, 1), Only: c.Only,
		},
		Result: exploreResult{
			Outcome: exploreOutcome(e), Limit: r.Limit, Doubt: r.Doubt, States: r.States, Longest: r.Longest, Runs: r.Runs, Memory: r.Memory, Took: r.Took,
			Coverage: r.Coverage, Symmetric: r.Symmetric, Horizon: r.Horizon,
		},
		Expected: e.Expected,
	}
	for kind, n := range c.Budget {
		if n > 0 {
			rec.Config.Budget[kind] = n
		}
	}
	rec.Result.Unstruck = e.Config.Unstruck(e.Result)
	rec.Result.Excused = cli.Map(r.Excused, func(t *trace.Trace) excusedBreak { return excusedBreak{t.Anomalies, t.Faults} })
	if r.Found == nil {
		for _, a := range r.Assumptions() {
			rec.Result.Assumed = append(rec.Result.Assumed, a.Full...)
		}
	}
	t := r.Shown()
	if t == nil {
		return rec
	}
	rec.Result.Anomalies, rec.Result.Faults, rec.Result.TurningStep = t.Anomalies, t.Faults, t.Turning()+1
	rec.Result.Why = cli.Map(t.Verdict.Anomalies, func(a checker.Anomaly) string { return a.Why })
	for i, s := range t.Steps {
		rec.Steps = append(rec.Steps, newExploreStep(t, i, s))
	}
	return rec
}

func exploreOutcome(e *lab.Exploration) string {
	switch r := e.Result; {
	case r.Found != nil:
		return "broken"
	case r.Doubt != "":
		return "not-shown"
	case !r.Complete():
		return "incomplete"
	case r.Vacuous(), len(e.Config.Unstruck(e.Result)) > 0:
		return "vacuous"
	case len(r.Excused) > 0:
		return "excused"
	}
	return "holds"
}

func newExploreStep(t *trace.Trace, i int, s trace.Step) exploreStep {
	step := exploreStep{
		Number: i + 1, At: s.At + trace.Start, Kind: s.Kind, Request: s.Request, Reply: s.Reply, Passed: s.Passed, Text: exploration.StepText(t, s),
		Counter: s.After.Counter,
	}
	if s.Client >= 0 {
		step.Client = trace.ClientName(s.Client)
	}
	if s.Op != history.OpNone || s.Kind == trace.Serve || s.Kind == trace.Arrive {
		step.Op = s.Op.String()
	}
	switch s.Kind {
	case trace.Serve, trace.Arrive:
		step.Server = trace.ServerName(t.Servers, s.Server)
	case trace.Return:
		step.Outcome = s.Answer.Outcome.String()
	case trace.Fault:
		step.Fault = s.Fault
		if s.Client < 0 {
			step.Server = trace.ServerName(t.Servers, s.Server)
		}
	}
	for _, state := range s.After.Keys {
		step.Keys = append(step.Keys, exploreKey{Value: state.Value, TTL: state.TTL})
	}
	for c, holds := range s.After.Holds {
		if holds {
			step.Holders = append(step.Holders, trace.ClientName(c))
		}
	}
	return step
}
