package lab

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/internal/story"
	"github.com/locklab/locklab/scenarios"
)

// Case is one cell to be run.
type Case struct {
	Subject  play.Subject
	Script   *scenarios.Script
	Round    int // from 1
	Expected record.Expectation
	Storm    *storm.Plan // instead of the script's steps; nil: there is none
	// GoesOn is told every second how a storm goes on; nil: nobody is.
	GoesOn func(lasted time.Duration, operations int64)
}

// Cases lists the cells of a run: every script with every subject, rounds times, in this order. expect says what each should come to;
// see Expect.
func Cases(scripts []*scenarios.Script, subjects []play.Subject, rounds int, expect func(*scenarios.Script, play.Subject) record.Expectation) []Case {
	var cases []Case
	for _, script := range scripts {
		for _, subject := range subjects {
			for round := 1; round <= rounds; round++ {
				cases = append(cases, Case{Subject: subject, Script: script, Round: round, Expected: expect(script, subject)})
			}
		}
	}
	return cases
}

// Planned is the cell that a case will become, as run.json has it before the run.
func (c Case) Planned() record.Cell {
	cell := record.Cell{
		Lock: c.Subject.Name, Scenario: c.Script.Name, Client: c.Subject.Argv, Round: c.Round, Expected: c.Expected,
		Dir:   filepath.Join(c.Script.Name, fmt.Sprintf("%s.%d", c.Subject.Name, c.Round)),
		Storm: c.storm(),
	}
	if work := c.Script.Work(); work != history.Counter {
		cell.Workload = string(work)
	}
	return cell
}

// order is in which order, and how many at a time, cells are run.
type order struct {
	parallel int
	// seed shuffles the cells, so that none comes to depend on its neighbours. The same seed gives the same order.
	seed int64
}

// runAll runs the cases by run, and returns the cells that ended, in the order of the cases. When ctx ends, the cells in flight are
// cut short.
func runAll(ctx context.Context, cases []Case, order order, progress progress, run func(context.Context, Case) record.Cell) ([]record.Cell, error) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		ended = make([]*record.Cell, len(cases))
		stop  error
		slots = make(chan struct{}, order.parallel)
	)
	start := func(i int) (goOn bool) {
		mu.Lock()
		defer mu.Unlock()
		if stop == nil && ctx.Err() == nil {
			stop = progress.cellStarted(cases[i])
		}
		return stop == nil && ctx.Err() == nil
	}
	end := func(i int, cell record.Cell) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil && cell.Failure != "" && cases[i].Storm == nil {
			return // what fails when a cell is cut short is no failure of the lab
		}
		ended[i] = &cell
		if err := progress.cellEnded(cell); err != nil && stop == nil {
			stop = err
		}
	}
	goesOn := func(cs Case) func(time.Duration, int64) {
		return func(lasted time.Duration, operations int64) {
			mu.Lock()
			defer mu.Unlock()
			if err := progress.stormGoesOn(cs, lasted, operations); err != nil && stop == nil {
				stop = err
			}
		}
	}
	for _, i := range order.of(cases) {
		slots <- struct{}{}
		if !start(i) {
			break
		}
		wg.Go(func() {
			cs := cases[i]
			cs.GoesOn = goesOn(cs)
			end(i, run(ctx, cs))
			<-slots
		})
	}
	wg.Wait()
	var cells []record.Cell
	for _, cell := range ended {
		if cell != nil {
			cells = append(cells, *cell)
		}
	}
	return cells, stop
}

// of is the order in which the cases are started: those that may last longest first, so that nobody waits for them alone at the end;
// those that last as long as each other shuffled.
func (o order) of(cases []Case) []int {
	shuffled := rand.New(rand.NewPCG(uint64(o.seed), 0)).Perm(len(cases))
	lasts := make([]time.Duration, len(cases))
	for i, cs := range cases {
		lasts[i] = cs.Script.Longest()
	}
	slices.SortStableFunc(shuffled, func(a, b int) int { return cmp.Compare(lasts[b], lasts[a]) })
	return shuffled
}

// Expect says what a subject should come to in a script: what the reviewed matrix says, if the script comes with the lab; else what the
// script says, if it was written for the lock; else what the lock's card says; else that it is safe. A foreign client is compared with the
// lock that it is said to be like, or else judged by what it promises. Where the workload is not the one that was reviewed, the matrix
// counts but for the data. Without a matrix nothing has been reviewed.
func Expect(matrix *scenarios.Matrix) func(*scenarios.Script, play.Subject) record.Expectation {
	return func(script *scenarios.Script, subject play.Subject) record.Expectation {
		name := subject.Name
		if subject.Argv != nil {
			name = subject.Like
		}
		if matrix != nil && script.Builtin {
			if verdict, ok := matrix.Lookup(script.Name, name); ok {
				return reviewed(record.Expectation{Verdict: verdict, By: record.ByMatrix}, script)
			}
		}
		if script.Expect.Lock != "" && (script.Expect.Lock == name || script.Expect.Lock == subject.Name) {
			return record.Expectation{Verdict: script.Expect.Verdict(), By: record.ByScript}
		}
		if subject.Argv != nil && subject.Spec != nil {
			return storm.ContractOf(*subject.Spec).Expected()
		}
		return expectedByCard(subject.Spec)
	}
}

// ExpectIn says what the user's own table says of a subject, by its name, in a script that may be the user's, too; else otherwise does.
func ExpectIn(table *scenarios.Matrix, otherwise func(*scenarios.Script, play.Subject) record.Expectation) func(*scenarios.Script, play.Subject) record.Expectation {
	return func(script *scenarios.Script, subject play.Subject) record.Expectation {
		verdict, ok := table.Lookup(script.Name, subject.Name)
		if !ok {
			return otherwise(script, subject)
		}
		return reviewed(record.Expectation{Verdict: verdict, By: record.ByFile}, script)
	}
}

// reviewed is what a table says of a script, under the workload that is used.
func reviewed(expected record.Expectation, script *scenarios.Script) record.Expectation {
	if script.WorkloadOverridden {
		expected.By = record.ByLock
	}
	return expected
}

func expectedByCard(card *impls.Spec) record.Expectation {
	safe := checker.Verdict{Kind: checker.Safe}
	switch {
	case card == nil:
		return record.Expectation{Verdict: safe, By: record.ByDefault}
	case card.Bug != "":
		return record.Expectation{By: record.ByCard}
	}
	return record.Expectation{Verdict: safe, By: record.ByCard}
}

// Settled is a cell with the verdict that its history deserves. elsewhere is that of its run; twice asks for the second opinion, which a storm has anyway.
func Settled(cell record.Cell, events []history.Event, elsewhere, twice bool) record.Cell {
	why, interrupted := checker.Interrupted(events)
	cell.Data, cell.Skipped, cell.Interrupted = checker.Tally(events), checker.Skipped(events), interrupted
	cell.Expected = expectedWithout(checker.Lacks(events), cell, elsewhere)
	switch {
	case cell.Storm != nil:
		cell.Verdict, cell.Storm = storm.Conclude(events, storm.ContractIn(cell.Expected), *cell.Storm)
	case interrupted: // whether the host stalled is known of a whole script only
		cell.Verdict = checker.Verdict{Kind: checker.Undecided, Reason: why}
	case cell.Expected.By == record.ByPromises:
		cell.Verdict = storm.ByPromises(events, storm.ContractIn(cell.Expected), twice)
	default:
		cell.Verdict = checker.Conclude(events, checker.Options{Twice: twice})
	}
	cell.Finding = ""
	if cell.Verdict.Kind == checker.Broken {
		cell.Finding = story.Of(cell.Verdict, events).Finding
	}
	return cell
}

// expectedWithout is what is expected of a cell that lacks something that its script needs; "": it lacks nothing. As that is reviewed, too, it
// is news only in a setting that nobody reviewed: elsewhere, under another workload, or with servers of another kind than the lock needs.
func expectedWithout(lacks string, cell record.Cell, elsewhere bool) record.Expectation {
	ours := cell.Expected.By == record.ByMatrix && cell.Client == nil && !elsewhere && !play.ServesOthers(lacks)
	if lacks == "" || ours || cell.Expected.By == record.ByFile {
		return cell.Expected
	}
	return record.Expectation{Verdict: checker.Verdict{Kind: checker.NotApplicable, Reason: lacks}, By: record.ByNeeds}
}

// Subjects are locks in Go; Serve must know them.
func Subjects(locks ...impls.Spec) []play.Subject {
	subjects := make([]play.Subject, len(locks))
	for i, lock := range locks {
		subjects[i] = play.SubjectOf(lock)
	}
	return subjects
}
