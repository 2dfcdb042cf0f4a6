package replay

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/sim/trace"
)

// Race is a counterexample.
type Race struct {
	Lock   impls.Spec
	Faults string // what was allowed: the faults of a points.Point, or All
	Trace  *trace.Trace
}

// All as the faults of a race are all kinds together.
const All = "all"

// Name is the race in one word.
func (r Race) Name() string {
	return strings.Join([]string{strings.ReplaceAll(r.Lock.Name, "/", "-"), r.Faults, string(r.Trace.Anomalies[0])}, "-")
}

// Parsed is the script of the race, ready to be played.
func (r Race) Parsed() (*scenarios.Script, error) {
	text, err := Script(r.Lock, r.Trace)
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(r.Name()+".lab", []byte(text))
}

// Shown says whether a cell that played the script of a race shows what the trace does; if not, why.
func (r Race) Shown(cell checker.Cell) (why string, shown bool) {
	seen := cell.Verdict.Names()
	for _, name := range r.Trace.Anomalies {
		if !slices.Contains(seen, name) {
			return cell.Verdict.String(), false
		}
	}
	return "", true
}
