package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/sim/points"
)

// PointsPlan says for which locks to find breaking points: how few faults of each kind break them.
type PointsPlan struct {
	Locks []impls.Spec // nil: all that come with the lab
	// States is how many states each search may find; zero: enough to find most of the reviewed table again.
	States int
	// Shard is the part of the locks that is searched; the zero Shard is all of them. MergePoints puts the parts together.
	Shard Shard
	// Results are kept as points.json, and shown with each counterexample as report.html. Latest and Most are not used.
	Results Results
	Command []string // how the lab was called, for the page
	// Done is told each line as it comes, one call at a time; nil: nobody is.
	Done func(points.Line)
}

// BreakingPoints are the lines of a table, held against the reviewed ones.
type BreakingPoints struct {
	Lines       []points.Line
	Differences []string // one sentence each
}

// FindBreakingPoints finds breaking points on all cores, and compares them with the reviewed table.
func FindBreakingPoints(ctx context.Context, plan PointsPlan) (*BreakingPoints, error) {
	if plan.Locks == nil {
		plan.Locks = impls.Explored()
	}
	if plan.States == 0 {
		plan.States = points.UsualStates
	}
	record := plan.record()
	out, err := plan.Results.openPoints(record)
	if err != nil {
		return nil, err
	}
	search := points.Search{Locks: plan.Shard.Locks(plan.Locks), States: plan.States, Parallel: runtime.NumCPU(), Done: plan.Done}
	if record.Lines, err = search.Find(ctx); err != nil {
		return nil, errors.Join(err, out.discard(PointsFile))
	}
	if err := out.writePoints(record, plan.Command); err != nil {
		return nil, err
	}
	return compared(record)
}

// compared holds lines against the reviewed ones.
func compared(record *pointsRecord) (*BreakingPoints, error) {
	reviewed, err := points.Reviewed()
	return &BreakingPoints{Lines: record.Lines, Differences: points.Differences(record.Lines, reviewed)}, err
}

// lockCosts are about what the searches for locks cost in proportion to one another.
func lockCosts(locks []impls.Spec) []time.Duration {
	costs := make([]time.Duration, len(locks))
	for i, lock := range locks {
		costs[i] = points.Cost(lock)
	}
	return costs
}

// PointsFile is where, in the directory of a search for breaking points, its lines are.
const PointsFile = "points.json"

// pointsVersion is the schema version of points.json.
const pointsVersion = 1

// pointsRecord is what points.json holds.
type pointsRecord struct {
	Version  int           `json:"version"`
	Lab      string        `json:"lab"`
	States   int           `json:"states"`
	Part     *record.Part  `json:"part,omitempty"`
	Finished bool          `json:"finished"`
	Lines    []points.Line `json:"lines"`
}

// record is what is known before the search.
func (p PointsPlan) record() *pointsRecord {
	record := &pointsRecord{Version: pointsVersion, Lab: Version(), States: p.States}
	if p.Shard != (Shard{}) {
		names := make([]string, len(p.Locks))
		for i, lock := range p.Locks {
			names[i] = lock.Name
		}
		record.Part = p.Shard.part(names, lockCosts(p.Locks))
	}
	return record
}

// openPoints makes the directory, and claims it for this search.
func (r Results) openPoints(record *pointsRecord) (*results, error) {
	return r.claim(func(dir string) error { return rundir.CreateJSON(filepath.Join(dir, PointsFile), record) })
}

func (r *results) writePoints(record *pointsRecord, command []string) error {
	if r.Dir == "" {
		return nil
	}
	record.Finished = true
	reviewed, err := points.Reviewed()
	if err != nil {
		return err
	}
	if err := rundir.WriteJSON(filepath.Join(r.Dir, PointsFile), record); err != nil {
		return err
	}
	return pointsPage(record.Lines, reviewed, command).write(filepath.Join(r.Dir, rundir.PageFile))
}

func readPoints(dir string) (*pointsRecord, error) {
	path := filepath.Join(dir, PointsFile)
	var record pointsRecord
	if err := rundir.ReadJSON(path, "a search for breaking points", &record); err != nil {
		return nil, &NoRunError{dir, err}
	}
	if record.Version != pointsVersion {
		return nil, &NoRunError{dir, fmt.Errorf("%s: version %d; this lab reads version %d", path, record.Version, pointsVersion)}
	}
	return &record, nil
}

// MergePoints puts the lines of all shards of a plan together. The error is a *MergeError if they are not all parts of one whole.
func MergePoints(dirs []string, kept Results) (*BreakingPoints, error) {
	records, pieces := make([]*pointsRecord, len(dirs)), make([]piece, len(dirs))
	for i, dir := range dirs {
		record, err := readPoints(dir)
		if err != nil {
			return nil, err
		}
		if !record.Finished {
			return nil, notMerged("%s: this search has not finished; run the part again", dir)
		}
		records[i] = record
		pieces[i] = piece{dir, record.Part, len(record.Lines), []fact{labOf(record.Lab), {name: "states", value: strconv.Itoa(record.States)}}}
	}
	if err := fit(pieces); err != nil {
		return nil, err
	}
	first := records[0]
	merged := &pointsRecord{Version: pointsVersion, Lab: first.Lab, States: first.States, Lines: make([]points.Line, first.Part.Total)}
	for _, record := range records {
		for i, place := range record.Part.Places {
			merged.Lines[place] = record.Lines[i]
		}
	}
	out, err := kept.openPoints(merged)
	if err != nil {
		return nil, err
	}
	if err := out.writePoints(merged, nil); err != nil {
		return nil, err
	}
	return compared(merged)
}

// Outcome compares the lines with the reviewed ones.
func (b *BreakingPoints) Outcome() Outcome {
	if len(b.Differences) > 0 {
		return Surprise
	}
	return AsExpected
}
