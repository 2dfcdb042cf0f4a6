package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/rundir"
)

// MergeError says why parts are not merged.
type MergeError struct{ what string }

func (e *MergeError) Error() string { return e.what }

func notMerged(format string, args ...any) error { return &MergeError{fmt.Sprintf(format, args...)} }

// Merge puts the runs of all shards of a plan together into one run, which is as if the whole had been run at once: its cells come in the order
// of the plan, and their histories are kept like those of any other. The sink is told as by Run; nil: nobody is. The error is a *MergeError if
// the runs are not all parts of one whole; then nothing is written.
func Merge(ctx context.Context, dirs []string, kept Results, sink report.Sink) (*record.Run, error) {
	runs, err := readParts(dirs)
	if err != nil {
		return nil, err
	}
	run := whole(runs)
	run.Dir = kept.Dir
	if base := filepath.Base(run.Dir); idPattern.MatchString(base) {
		run.ID = base
	}
	results, err := kept.open(run)
	if err != nil {
		return nil, err
	}
	if kept.Dir != "" {
		if err := copyCells(ctx, runs, run); err != nil {
			return nil, errors.Join(err, results.discard(rundir.RunFile))
		}
	}
	if err := results.publish(run); err != nil {
		return nil, err
	}
	run.Cells = slices.DeleteFunc(slices.Clone(run.Cells), func(c record.Cell) bool { return c.Verdict.Kind == "" })
	return run, errors.Join(tellAll(run, sinks(sink, run, savedPage)), results.prune())
}

func savedPage(w io.Writer, run *record.Run) error { return WritePage(w, run, "") }

// tellAll tells of a run that has ended already.
func tellAll(run *record.Run, sink report.Sink) error {
	teller := &teller{run: run, total: len(run.Cells), sink: sink}
	if err := teller.tell(report.RunStart, nil); err != nil {
		return err
	}
	for _, cell := range run.Cells {
		if err := teller.cellEnded(cell); err != nil {
			return err
		}
	}
	return teller.tell(report.RunEnd, nil)
}

// readParts reads the parts of one whole, in their order.
func readParts(dirs []string) ([]*record.Run, error) {
	var runs []*record.Run
	for _, dir := range dirs {
		run, err := ReadRun(dir)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	list := make([]piece, len(runs))
	for i, run := range runs {
		list[i] = piece{run.Dir, run.Part, len(run.Cells), []fact{
			labOf(run.Lab), {name: "server", value: run.Server}, {name: "toxiproxy", value: run.Toxiproxy}, {name: "seed", value: strconv.FormatInt(run.Seed, 10)},
		}}
	}
	if err := fit(list); err != nil {
		return nil, err
	}
	slices.SortFunc(runs, func(a, b *record.Run) int { return a.Part.Index - b.Part.Index })
	return runs, nil
}

// piece is what is compared of a part.
type piece struct {
	dir   string
	part  *record.Part
	items int
	facts []fact
}

// fact is something that all parts of a whole have in common, and what to do if they have not.
type fact struct{ name, value, remedy string }

func labOf(version string) fact {
	return fact{"lab", version, "; run all parts by one build of the lab, or by builds of one source from a clone or with -trimpath"}
}

// fit says why pieces are not the parts of one whole.
func fit(pieces []piece) error {
	if len(pieces) == 0 {
		return notMerged("nothing to merge: name the directories of all parts")
	}
	first := pieces[0]
	by := map[int]string{}
	for _, p := range pieces {
		if p.part == nil {
			return notMerged("%s: not a part but a whole run; merge takes what --shard i/n has made", p.dir)
		}
		if !sound(p.part, p.items) {
			return notMerged("%s: its record of which part it is has been damaged; restore it, or run the part again", p.dir)
		}
		for i, f := range p.facts {
			if want := first.facts[i]; f != want {
				return notMerged("%s and %s do not belong together: %s %q and %q%s", first.dir, p.dir, f.name, want.value, f.value, f.remedy)
			}
		}
		if p.part.Of != first.part.Of {
			return notMerged("%s and %s do not belong together: parts %d/%d and %d/%d", first.dir, p.dir, first.part.Index, first.part.Of, p.part.Index, p.part.Of)
		}
		if p.part.Whole != first.part.Whole || p.part.Total != first.part.Total {
			return notMerged("%s and %s do not belong together: other cells, scripts or flags; only --shard may differ", first.dir, p.dir)
		}
		if other, taken := by[p.part.Index]; taken {
			return notMerged("%s and %s overlap: both are part %d/%d", other, p.dir, p.part.Index, p.part.Of)
		}
		by[p.part.Index] = p.dir
	}
	return complete(pieces, by)
}

// sound says whether what a record says of itself as a part can be.
func sound(p *record.Part, items int) bool {
	outside := func(place int) bool { return place < 0 || place >= p.Total }
	return p.Index >= 1 && p.Index <= p.Of && len(p.Places) == items && items <= p.Total && !slices.ContainsFunc(p.Places, outside)
}

// complete says which parts are missing, and whether together they have every item exactly once.
func complete(pieces []piece, by map[int]string) error {
	of, total := pieces[0].part.Of, pieces[0].part.Total
	var missing []string
	for i := 1; i <= of && len(missing) < 10; i++ {
		if by[i] == "" {
			missing = append(missing, fmt.Sprintf("%d/%d", i, of))
		}
	}
	if len(missing) > 0 {
		return notMerged("part %s is missing", strings.Join(missing, ", "))
	}
	items := 0
	for _, p := range pieces {
		items += p.items
	}
	if items != total {
		return notMerged("the parts have %d of %d cells; run them again", items, total)
	}
	seen := make([]bool, total)
	for _, p := range pieces {
		for _, place := range p.part.Places {
			if seen[place] {
				return notMerged("%s: cell %d of the whole is in this part twice, or in another part, too; run the parts again", p.dir, place+1)
			}
			seen[place] = true
		}
	}
	return nil
}

// whole is the record of the run that parts make.
func whole(runs []*record.Run) *record.Run {
	first := runs[0]
	run := &record.Run{
		ID: NewID(), Seed: first.Seed, World: first.World, Server: first.Server, Toxiproxy: first.Toxiproxy, Lab: first.Lab, Elsewhere: first.Elsewhere,
		Started: first.Started, Platform: platforms(runs), Command: outcome.Without(first.Command, "--shard"), Finished: true,
		Cells: make([]record.Cell, first.Part.Total),
	}
	for _, part := range runs {
		run.Finished = run.Finished && part.Finished
		if part.Started.Before(run.Started) {
			run.Started = part.Started
		}
		for i, place := range part.Part.Places {
			run.Cells[place] = part.Cells[i]
		}
	}
	return run
}

// platforms are those on which the parts ran; machines may differ.
func platforms(runs []*record.Run) string {
	var all []string
	for _, run := range runs {
		if !slices.Contains(all, run.Platform) {
			all = append(all, run.Platform)
		}
	}
	return strings.Join(all, "; ")
}

// askAgain is how often a directory is looked at that another machine fills: it cannot tell this one.
const askAgain = 200 * time.Millisecond

// AwaitParts waits until all parts are there and complete, at most for a time: what they lack then, Merge and MergePoints say. The error is the
// cause of ctx's end.
func AwaitParts(ctx context.Context, dirs []string, most time.Duration) error {
	deadline := time.Now().Add(most)
	for slices.ContainsFunc(dirs, incomplete) && time.Now().Before(deadline) {
		select {
		case <-time.After(min(askAgain, time.Until(deadline))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// incomplete says whether another lab may still write to a part.
func incomplete(dir string) bool {
	if points, err := readPoints(dir); err == nil {
		return !points.Finished
	}
	run, err := rundir.ReadRun(dir)
	if err != nil || !run.Finished {
		return true
	}
	_, err = os.Stat(filepath.Join(run.Dir, rundir.JUnitFile)) // which is written after the histories have been packed
	return err != nil
}
