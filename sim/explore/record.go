package explore

import (
	"cmp"
	"time"

	"github.com/locklab/locklab/checker"
)

// Record is an exploration for programs.
type Record struct {
	Config struct {
		Lock       string         `json:"lock"`
		Clients    int            `json:"clients"`
		Rounds     int            `json:"rounds"`
		Servers    int            `json:"servers"`
		Reenter    int            `json:"reenter,omitempty"`
		MostFaults int            `json:"most_faults"`
		Budget     map[string]int `json:"budget"`
		Skew       time.Duration  `json:"skew_ns"`
		Lag        int            `json:"lag"`
		Only       []checker.Name `json:"only,omitempty"`
	} `json:"config"`
	Result struct {
		Outcome    string         `json:"outcome"` // holds, vacuous, broken, incomplete or disputed
		Limit      string         `json:"limit,omitempty"`
		Anomalies  []checker.Name `json:"anomalies,omitempty"`
		Faults     []string       `json:"faults,omitempty"`
		Why        []string       `json:"why,omitempty"`
		States     int            `json:"states"`
		Longest    int            `json:"longest"`
		Learned    int            `json:"learned"`
		Memory     int            `json:"memory_bytes"`
		Took       time.Duration  `json:"took_ns"`
		Facts      []string       `json:"facts"`
		Symmetric  bool           `json:"symmetric"`
		Horizon    time.Duration  `json:"horizon_ns,omitempty"`
		Collision  float64        `json:"collision"`
		Disputed   int            `json:"disputed,omitempty"`
		TurningRow int            `json:"turning_step,omitempty"` // the number of one of the steps, from 1
	} `json:"result"`
	Steps []RecordStep `json:"steps,omitempty"`
}

// RecordStep is a step for programs.
type RecordStep struct {
	Number  int           `json:"number"`
	At      time.Duration `json:"at_ns"`
	Kind    StepKind      `json:"kind"`
	Client  string        `json:"client,omitempty"`
	Server  string        `json:"server,omitempty"`
	Op      string        `json:"op,omitempty"`
	Fault   string        `json:"fault,omitempty"`
	Request [][]string    `json:"request,omitempty"`
	Reply   string        `json:"reply,omitempty"`
	Outcome string        `json:"outcome,omitempty"`
	Passed  time.Duration `json:"passed_ns,omitempty"`
	Text    string        `json:"text"`
	Keys    []RecordKey   `json:"keys"`
	Counter int64         `json:"counter"`
	Holders []string      `json:"holders,omitempty"`
}

// RecordKey is what a server has under the lock's key.
type RecordKey struct {
	Value string        `json:"value,omitempty"`
	TTL   time.Duration `json:"ttl_ns,omitempty"`
}

// Record turns a result into what programs read.
func (r *Result) Record(c Config) *Record {
	var rec Record
	rec.Config.Lock, rec.Config.Clients, rec.Config.Rounds, rec.Config.Servers = c.Lock.Name, c.Clients, c.Rounds, c.servers()
	rec.Config.Skew, rec.Config.Lag = cmp.Or(c.Skew, usualSkew), max(c.Lag, 1)
	rec.Config.Reenter = c.Reenter
	rec.Config.MostFaults, rec.Config.Only, rec.Config.Budget = c.MostFaults, c.Only, map[string]int{}
	for f, n := range c.Budget {
		if n > 0 {
			rec.Config.Budget[Fault(f).String()] = int(n)
		}
	}
	out := &rec.Result
	out.Outcome, out.Limit = r.outcome(), r.Limit
	out.States, out.Longest, out.Learned, out.Memory, out.Took = r.States, r.Longest, r.Learned, r.Memory, r.Took
	out.Facts, out.Symmetric, out.Horizon, out.Collision, out.Disputed = r.Facts, r.Symmetric, r.Horizon, r.Collision, len(r.Disputed)
	if r.Found == nil {
		return &rec
	}
	out.Anomalies, out.Faults, out.TurningRow = r.Found.Anomalies, r.Found.Faults, r.Found.Turning()+1
	for _, a := range r.Found.Verdict.Anomalies {
		out.Why = append(out.Why, a.Why)
	}
	for i, s := range r.Found.Steps {
		rec.Steps = append(rec.Steps, r.Found.record(i, s))
	}
	return &rec
}

func (r *Result) outcome() string {
	switch {
	case len(r.Disputed) > 0:
		return "disputed"
	case r.Found != nil:
		return "broken"
	case !r.Complete():
		return "incomplete"
	case r.Vacuous():
		return "vacuous"
	}
	return "holds"
}

func (t *Trace) record(i int, s Step) RecordStep {
	step := RecordStep{Number: i + 1, At: s.At + start, Kind: s.Kind, Request: s.Request, Reply: s.Reply, Passed: s.Passed, Text: t.words(s), Counter: s.Counter}
	if s.Client >= 0 {
		step.Client = clientName(s.Client)
	}
	switch s.Kind {
	case StepServe, StepArrive:
		step.Op, step.Server = s.Op.String(), serverName(t.Servers, s.Server)
	case StepCall:
		step.Op = s.Op.String()
	case StepReturn:
		step.Op, step.Outcome = s.Op.String(), s.Answer.Outcome.String()
	case StepFault:
		step.Fault = s.Fault.String()
		if s.Client < 0 {
			step.Server = serverName(t.Servers, s.Server)
		}
	}
	for _, state := range s.After {
		step.Keys = append(step.Keys, RecordKey{Value: state.Value, TTL: state.TTL})
	}
	for c, held := range s.Held {
		if held {
			step.Holders = append(step.Holders, clientName(c))
		}
	}
	return step
}
