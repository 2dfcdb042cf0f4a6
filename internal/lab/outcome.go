package lab

import (
	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// Outcome is what came of a run. Of several that apply to its cells the worst counts: Failed, then Surprise, then Unknown.
type Outcome int

// The outcomes; each is the exit code of the command line.
const (
	AsExpected Outcome = iota // everything came out as expected
	Surprise                  // a lock broke that should hold, held where it should break, or an n/a that nobody expected
	Unknown                   // a cell could not be decided, or was not reached
	Failed                    // the lab, its checker or a server failed
	Nothing                   // every cell was n/a
)

// OutcomeOf sums a run up. Surprises that are known are none.
func OutcomeOf(run *record.Run) Outcome {
	worst, applicable := AsExpected, false
	for _, cell := range run.Cells {
		applicable = applicable || cell.Verdict.Kind != checker.NotApplicable
		worst = Worse(worst, OutcomeOfCell(cell))
	}
	if !run.Finished {
		worst = Worse(worst, Unknown)
	}
	if worst == AsExpected && !applicable {
		return Nothing
	}
	return worst
}

// OutcomeOfCell is what came of one cell.
func OutcomeOfCell(cell record.Cell) Outcome {
	switch {
	case cell.Failure != "" || cell.Verdict.CheckerFault:
		return Failed
	case cell.Surprise() && !cell.Known:
		return Surprise
	case cell.Verdict.Kind == checker.Undecided:
		return Unknown
	}
	return AsExpected
}

// Worse is the outcome of two cells together.
func Worse(a, b Outcome) Outcome {
	rank := [...]int{AsExpected: 0, Unknown: 1, Surprise: 2, Failed: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}
