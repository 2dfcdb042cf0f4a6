package reproduce

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Counterexample is what the explorer has found.
type Counterexample struct {
	Lock   impls.Spec
	Faults string // what was allowed: the faults of a points.Point, or All
	Trace  *trace.Trace
}

// All as the faults of a counterexample are all kinds together.
const All = "all"

// Name is the counterexample in one word.
func (c Counterexample) Name() string {
	return strings.Join([]string{strings.ReplaceAll(c.Lock.Name, "/", "-"), c.Faults, string(c.Trace.Anomalies[0])}, "-")
}

// Shown says whether a cell that played the script of a counterexample shows what the trace does; if not, why.
func (c Counterexample) Shown(cell record.Cell) (why string, shown bool) {
	seen := cell.Verdict.Names()
	for _, name := range c.Trace.Anomalies {
		if !slices.Contains(seen, name) {
			return cell.Verdict.String(), false
		}
	}
	return "", true
}
