// Package lab runs locks through scenarios, storms and the explorer, judges saved runs again, and shrinks what a storm found to a script. The
// command line is flags and rendering around it; the public package lab is the part of it that other programs need.
//
// It owns the life cycle of a run: cells, order, retries after host stalls, results. It must not know flags, terminals or exit codes.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/listing/golang"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/version"
)

// Plan says what to run, where, and who is told.
type Plan struct {
	Cases []Case
	Options
}

// Options are what runs of all kinds have in common. The zero Options run in the live world, keep nothing and tell nobody.
type Options struct {
	Setting
	Results Results
	// Parallel is how many cells are in flight; zero: as many as suit the world.
	Parallel int
	// Shard is the part of the cells that is run; the zero Shard is all of them. Merge puts the parts together.
	Shard Shard
	// Seed decides in which order cells are started.
	Seed int64
	// FailFast starts no more cells after the first surprise or failure.
	FailFast bool
	// Known says which surprises are no news, such as those of an earlier run, to several goroutines at a time; nil: none.
	Known func(record.Cell) bool
	// Sink is told how the run goes on, one call at a time; nil: nobody is. An error of it keeps further cells from being started.
	Sink report.Sink
	// Played receives each cell that ended with its history, from several goroutines at a time; nil: no one wants them.
	Played func(record.Cell, []history.Event)
	// Command is what the user called, to be named in reports.
	Command []string
}

// errFailFast keeps further cells from being started.
var errFailFast = errors.New("a surprise or a failure, after which no more cells were to be started")

// Run runs cells and judges them. The run that it returns has the cells that ended, in the order of the plan; Finished is false if these
// are not all, or one was interrupted. The error is a failure of the lab around the cells, or the cause of ctx's end: what is known so far is returned with it.
func Run(ctx context.Context, plan Plan) (*record.Run, error) {
	var part *record.Part
	if plan.Shard != (Shard{}) {
		part = plan.Shard.part(plan.whole(), caseCosts(plan.Cases))
		plan.Cases = plan.Shard.Cases(plan.Cases)
	}
	run := plan.record()
	run.Part = part
	if err := plan.checkNames(); err != nil {
		return run, err
	}
	results, err := plan.Results.open(run)
	if err != nil {
		return run, err
	}
	world, err := plan.open(ctx, plan.Results.Dir, plan.sends()...)
	if err != nil {
		return run, errors.Join(err, results.discard(rundir.RunFile))
	}
	err = plan.carryOut(ctx, run, results, world)
	return run, errors.Join(err, world.Close())
}

// NewID is a name for a run; names sort by time.
func NewID() string {
	return fmt.Sprintf("%s-%04x", time.Now().Format("20060102-150405"), rand.N(1<<16))
}

// sends are the commands that the locks of the plan may send, as far as their cards say.
func (p Plan) sends() []string {
	all := map[string]bool{}
	for _, c := range p.Cases {
		if c.Subject.Spec == nil {
			continue
		}
		for _, names := range c.Subject.Spec.Sends {
			for _, name := range names {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// record is what run.json says before the first cell.
func (p Plan) record() *record.Run {
	run := &record.Run{
		ID: NewID(), Started: time.Now(), Seed: p.Seed, World: cmp.Or(p.World, Live), Lab: Version(), Dir: p.Results.Dir, Command: p.Command,
		Elsewhere: !p.reviewed(),
		Platform:  fmt.Sprintf("%s/%s, %s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU()),
	}
	if base := filepath.Base(run.Dir); idPattern.MatchString(base) {
		run.ID = base
	}
	for _, c := range p.Cases {
		run.Cells = append(run.Cells, c.Planned())
	}
	return run
}

// Version is that of this build of the lab; builds of different source have different ones.
func Version() string { return version.String() }

// carryOut runs the cells and reports them as they end.
func (p Plan) carryOut(ctx context.Context, run *record.Run, results *results, world World) error {
	run.Server, run.Toxiproxy = world.ServerVersion(), world.ToxiproxyVersion()
	if err := results.publish(run); err != nil {
		return err
	}
	page, err := newPage(run)
	if err != nil {
		return err
	}
	runner := Runner{World: world, Elsewhere: run.Elsewhere}
	packer := newPacker(run)
	if p.Results.Dir != "" {
		runner.Keep = packer.save
	}
	planned := run.Cells
	write := func(w io.Writer, run *record.Run) error { return page.Write(w, run, HistoriesOf(run)) }
	teller := &teller{run: run, total: len(planned), sink: sinks(p.Sink, run, write), failFast: p.FailFast}
	if err := teller.tell(report.RunStart, nil); err != nil {
		return err
	}
	run.Cells = nil
	ended, err := runAll(ctx, p.Cases, order{parallel: cmp.Or(p.Parallel, p.parallel()), seed: run.Seed}, teller, func(ctx context.Context, c Case) record.Cell {
		cell, events := runner.run(ctx, c)
		cell.Known = p.Known != nil && p.Known(cell)
		if page != nil {
			page.Add(cell, events, nil)
		}
		if p.Played != nil {
			p.Played(cell, events)
		}
		return cell
	})
	if err != nil && !errors.Is(err, errFailFast) {
		return errors.Join(err, packer.close())
	}
	run.Cells, run.Finished = withEnded(planned, ended), len(ended) == len(planned) && !slices.ContainsFunc(ended, isInterrupted)
	err = errors.Join(results.write(run), packer.pack(ended))
	run.Cells = ended
	return errors.Join(err, teller.tell(report.RunEnd, nil), results.prune(), context.Cause(ctx))
}

func isInterrupted(c record.Cell) bool { return c.Interrupted }

// withEnded is every planned cell, as it ended if it did: a run that was cut short keeps what it was at, for Check.
func withEnded(planned, ended []record.Cell) []record.Cell {
	byDir := map[string]record.Cell{}
	for _, cell := range ended {
		byDir[cell.Dir] = cell
	}
	all := slices.Clone(planned)
	for i := range all {
		if cell, ok := byDir[all[i].Dir]; ok {
			all[i] = cell
		}
	}
	return all
}

// sinks are those who are told, nil being nobody, with the reports that are kept.
func sinks(told report.Sink, run *record.Run, page func(io.Writer, *record.Run) error) report.Sink {
	all := nonNil(told)
	if run.Dir != "" {
		all = append(all, toFile(filepath.Join(run.Dir, rundir.JUnitFile), report.JUnit), toFile(filepath.Join(run.Dir, rundir.PageFile), page))
	}
	return report.Tee(all...)
}

// toFile renders the whole run into a file when it has ended.
func toFile(path string, render func(io.Writer, *record.Run) error) report.Sink {
	return report.AtEnd(func(run *record.Run) error {
		return writeFile(path, func(w io.Writer) error { return render(w, run) })
	})
}

// writeFile writes a file anew.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// newPage is the page of a run that is about to begin; nil: none is kept.
func newPage(run *record.Run) (*page.Page, error) {
	if run.Dir == "" {
		return nil, nil
	}
	sources, err := golang.Read()
	if err != nil {
		return nil, err
	}
	return page.New(run.Cells, page.Beside{Sources: sources}), nil
}

// WritePage is the page of a saved run, from its histories. Where it is one of many, home is where the list of all is.
func WritePage(w io.Writer, run *record.Run, home string) error {
	sources, err := golang.Read()
	if err != nil {
		return err
	}
	histories := HistoriesOf(run)
	return errors.Join(page.HTML(w, run, histories, page.Beside{Sources: sources, Home: home}), histories.Close())
}
