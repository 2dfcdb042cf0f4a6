package explain

import (
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/internal/story"
)

// Story is what came of an entry's cell when the model played it.
type Story struct {
	// Finding is a sentence: the cause, what came of it, and what was lost.
	Finding string          `json:"finding"`
	Verdict checker.Verdict `json:"verdict"`
	Events  []history.Event `json:"-"`
}

// longest is for how long, in virtual time, a cell is played.
const longest = time.Minute

// Play plays an entry's cell in the model, and judges it. It takes some milliseconds. Without a cell the story is nil.
func Play(ctx context.Context, e *Entry) (*Story, error) {
	c := e.Cell
	if c == nil {
		return nil, nil
	}
	limit := longest
	if text := c.hints["limit"]; text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			return nil, fmt.Errorf("the text about %s: %w", e.Name.Name, err)
		}
	}
	played, err := sim.Open(sim.Config{CellTimeout: limit}).Play(ctx, play.SubjectOf(c.of.Spec), c.of.Script, "")
	if err != nil {
		return nil, err
	}
	s := &Story{Events: played.Events, Verdict: checker.Conclude(played.Events, checker.Options{})}
	if e.Kind == Promise {
		promises, err := impls.ParsePromises(judgedBy(e))
		if err != nil {
			return nil, err
		}
		s.Verdict = storm.ByPromises(played.Events, storm.Contract{Promises: promises}, false)
	}
	told := story.Of(s.Verdict, s.Events)
	s.Finding = told.Finding
	if e.Kind == Promise && told.Breaks != "" {
		s.Finding += fmt.Sprintf(" A lock that promises %s must not do this.", told.Breaks)
	}
	return s, nil
}

// judgedBy are the promises by which a promise's cell is judged: mutual exclusion, its own, and what its text adds.
func judgedBy(e *Entry) []string {
	words := []string{"exclusion", e.Name.Name}
	if with := e.Cell.hints["with"]; with != "" {
		words = append(words, with)
	}
	return words
}

// Outcome is what an expectation other than the matrix's makes of the story; empty: the cell is run as the matrix has it.
func (c *Cell) Outcome(s *Story) string {
	expected := c.hints["expect"]
	if expected == "" || s.Verdict.String() == expected {
		return ""
	}
	return fmt.Sprintf("Expected: %s. So it is a surprise.", expected)
}
