package grade

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// Outcome is what came of a chapter.
type Outcome int

// The outcomes, from the best to the worst.
const (
	Survived  Outcome = iota
	Undecided         // the host was too slow to tell
	Failed
)

// Result is a chapter, what came of it, and what showed that.
type Result struct {
	Chapter Chapter
	Outcome Outcome
	// Trial is the first of those that came to Outcome, Cell its cell, and Why what happened there in a sentence. Of a chapter that was survived they are
	// those of the first trial, and Why is empty.
	Trial Trial
	Cell  record.Cell
	Why   string
}

// Hint is a question that leads on. What is wrong with fencing tokens shows in any chapter, and is about none of the commands there.
func (r Result) Hint() string {
	if slices.Contains(r.Cell.Verdict.Names(), checker.FenceRegression) {
		return "Each grant needs a number that is greater than all before it, whoever gets the lock. Where is it counted, and does that count ever start again?"
	}
	return r.Trial.Hint
}

// Judge says which of its chapters a lock has survived, by a run of the exercise's scenarios. What was not shown was not survived.
func (e Exercise) Judge(cells []record.Cell) []Result {
	var all []Result
	for _, chapter := range e.Chapters() {
		result := Result{Chapter: chapter, Trial: chapter.Trials[0], Outcome: Survived}
		for _, trial := range chapter.Trials {
			cell, outcome, why := trial.judge(cells)
			if outcome > result.Outcome {
				result.Trial, result.Cell, result.Outcome, result.Why = trial, cell, outcome, why
			}
		}
		all = append(all, result)
	}
	return all
}

// judge judges the cell of the trial.
func (t Trial) judge(cells []record.Cell) (record.Cell, Outcome, string) {
	i := slices.IndexFunc(cells, func(c record.Cell) bool { return c.Scenario == t.Scenario })
	if i < 0 {
		return record.Cell{Scenario: t.Scenario}, Undecided, "it was not played"
	}
	cell := cells[i]
	switch v := cell.Verdict; {
	case v.Kind == checker.Safe:
		return cell, Survived, ""
	case v.Kind == checker.Broken && !slices.ContainsFunc(v.Names(), t.forbids):
		return cell, Survived, ""
	case v.Kind == checker.Broken:
		return cell, Failed, cell.Finding
	case v.Kind == checker.NotApplicable && t.OneCommand && strings.Contains(v.Reason, oneCommand):
		return cell, Survived, ""
	case v.Kind == checker.NotApplicable:
		return cell, Failed, "It could not be played with this client: " + v.Reason
	case len(cell.Stalls) > 0:
		return cell, Undecided, "The host was too slow to tell: " + v.Reason
	}
	return cell, Failed, "It could not be shown with this client: " + cell.Verdict.Reason
}

// oneCommand is in the reason why a script that stops an acquire at its second command is n/a: there was none.
const oneCommand = "acquire returned ok without a write number 2"

func (t Trial) forbids(name checker.Name) bool { return !slices.Contains(t.Tolerated, name) }

// Worst is what came of all chapters together.
func Worst(results []Result) (worst Outcome) {
	for _, result := range results {
		worst = max(worst, result.Outcome)
	}
	return worst
}
