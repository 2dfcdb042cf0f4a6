package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/report/figures"
)

// BenchPlan says what to measure. Exactly one of its measurements is not nil.
type BenchPlan struct {
	Market  *measure.MarketPlan
	Waiting *measure.WaitingPlan
	Locks   *measure.LocksPlan
	Updates *measure.UpdatesPlan

	// Server is measure.Embedded or measure.RedisServer; empty: redis-server where the machine has one.
	Server string
	// Results are kept as bench.json and bench.html. Latest is not used.
	Results Results
	// Command is what the user called, to be named in reports.
	Command []string
	// Tell is told how far the measurement has come, one call at a time; nil: nobody is.
	Tell func(measure.Progress)
}

// NewBenchID is a name for a measurement; names sort by time.
func NewBenchID() string { return benchPrefix + NewID() }

const benchPrefix = "bench-"

// benchPattern is the form of NewBenchID.
var benchPattern = regexp.MustCompile(`^` + benchPrefix + `\d{8}-\d{6}-[0-9a-f]{4}$`)

// Bench measures. The error is a failure of the lab, or the cause of ctx's end: the figures that are known by then are returned with it.
func Bench(ctx context.Context, plan BenchPlan) (record *bench.Record, err error) {
	record = plan.record()
	out, err := plan.Results.openBench(record)
	if err != nil {
		return record, err
	}
	defer func() { err = errors.Join(err, out.close(record)) }()
	config := measure.Config{Server: plan.Server, Tell: plan.Tell}
	for as, argv := range map[string]*[]string{asGuard: &config.Guard, asHost: &config.Host, asBench: &config.Client} {
		if *argv, err = self(as); err != nil {
			return record, err
		}
	}
	place, err := measure.Open(ctx, config)
	if err != nil {
		return record, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	err = plan.measure(ctx, place, record)
	record.Server = place.Describe()
	record.Took, record.Finished = time.Since(record.Started), err == nil
	return record, err
}

// ProgramLocks are the locks of a program that measure.ProgramMain serves, by its own word.
func ProgramLocks(ctx context.Context, program string) ([]impls.Spec, error) {
	guard, err := self(asGuard)
	if err != nil {
		return nil, err
	}
	return measure.ProgramLocks(ctx, guard, program)
}

// record is what is known before the first figure.
func (p BenchPlan) record() *bench.Record {
	r := &bench.Record{
		Version: bench.Version, ID: NewBenchID(), Started: time.Now(), Lab: Version(), Cores: runtime.NumCPU(), Path: bench.Straight, Command: p.Command,
		Platform: fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version()),
	}
	if base := filepath.Base(p.Results.Dir); benchPattern.MatchString(base) {
		r.ID = base
	}
	const threads = "of one process, each with connections of its own"
	switch {
	case p.Market != nil:
		r.Kind, r.Market, r.Clients = bench.KindMarket, &bench.Market{}, "sellers and buyers are goroutines "+threads
	case p.Waiting != nil:
		r.Kind, r.Waiting = bench.KindWaiting, &bench.Waiting{}
		r.Clients = fmt.Sprintf("%d and %d goroutines %s", p.Waiting.AtOnce, p.Waiting.Waiters, threads)
	case p.Locks != nil:
		r.Kind, r.Locks = bench.KindLocks, &bench.Locks{}
		r.Clients = fmt.Sprintf("1 and %d goroutines %s", p.Locks.Clients, threads)
	case p.Updates != nil:
		r.Kind, r.Updates = bench.KindUpdates, &bench.Updates{}
		r.Clients = fmt.Sprintf("%d processes for each seed, paused with SIGSTOP", p.Updates.Clients)
	}
	return r
}

func (p BenchPlan) measure(ctx context.Context, place *measure.Place, r *bench.Record) error {
	switch {
	case p.Market != nil:
		return place.Market(ctx, *p.Market, r.Market)
	case p.Waiting != nil:
		return place.Waiting(ctx, *p.Waiting, r.Waiting)
	case p.Locks != nil:
		return place.Locks(ctx, *p.Locks, r.Locks)
	case p.Updates != nil:
		return place.Updates(ctx, *p.Updates, r.Updates)
	}
	return errors.New("the plan has nothing to measure")
}

// OutcomeOfBench is what came of a measurement.
func OutcomeOfBench(record *bench.Record) Outcome {
	switch {
	case len(record.Surprises()) > 0:
		return Surprise
	case record.Empty():
		return Nothing
	}
	return AsExpected
}

// openBench makes the directory, and claims it for this measurement.
func (r Results) openBench(record *bench.Record) (*results, error) {
	return r.claim(func(dir string) error { return figures.Create(dir, record) })
}

// close writes what is known, or removes the directory if that is nothing.
func (r *results) close(record *bench.Record) error {
	switch {
	case r.Dir == "":
		return nil
	case record.Empty():
		return r.discard(figures.File)
	}
	return errors.Join(figures.Write(r.Dir, record), r.pruneBench())
}

// pruneBench removes the oldest of the measurements beside this one.
func (r *results) pruneBench() error {
	return r.pruneLike(benchPattern, func(dir string) bool {
		record, err := figures.Read(dir)
		return err != nil || record.Took == 0 && time.Since(record.Started) < atWork
	})
}
