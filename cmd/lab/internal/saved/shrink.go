package saved

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// shrinkFlags are the flags of lab shrink as given.
type shrinkFlags struct {
	anomaly  string
	out      string
	played   option.Replay
	parallel int
	lease    time.Duration
	within   time.Duration
	client   string
	like     string
	verbose  bool
}

// Shrink is lab shrink.
func Shrink() *cobra.Command {
	flags := &shrinkFlags{}
	cmd := &cobra.Command{
		Use:   "shrink DIR [LOCK/SCENARIO]",
		Short: "Turn what a storm has found into a short script that shows the same",
		Long: `Shrink takes an anomaly of a saved run and writes a script that forces the order
in which the commands of its clients reached the server. The script must show
the same anomaly in the model; there, steps, breakpoints and clients that it
does not need are left out. What is left must show it on a server, too, and is
printed: a scenario for lab run. The script goes to stdout; what it shows, how
often, and the next commands go to stderr.

DIR is a run, or the directory of one of its cells. If the storm's order cannot
be forced, the script is the smallest schedule with the same anomaly of the same
lock that the explorer finds, and says so. If there is none either, shrink names
what it tried, with exit code 2.

There is no model of a client of your own. Give its command (--client), which no
file names for you: all scripts are then played with it, on a server.`,
		Example: `  lab shrink runs/latest
  lab shrink runs/latest setpx-getdel/storm --out race.lab
  lab run race.lab --lock setpx-getdel
  lab shrink runs/latest --client 'python3 mylock.py' --out race.lab`,
		Args:              runAndCell(""),
		ValidArgsFunction: naming.CompleteCells,
		RunE:              flags.run,
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.out, "out", "", "write the script to `FILE`, too")
	cmd.Flags().StringVar(&flags.anomaly, "anomaly", "", "`NAME` of the anomaly to show (default: one that breaks a promise)")
	cmd.Flags().StringVar(&flags.client, "client", "", "the run is one of your own client: start it by `COMMAND`")
	cmd.Flags().StringVar(&flags.like, "like", "", "with --client: ask it for `LOCK`, as the run did")
	flags.played.Bind(cmd.Flags(), "`WORLD` in which the script is played in the end: live or sim", "`SERVER` of the live world")
	cmd.Flags().DurationVar(&flags.lease, "lease", time.Second, "`TIME` of the lease in the script")
	cmd.Flags().DurationVar(&flags.within, "within", 5*time.Minute, "make scripts smaller for up to `TIME`")
	cmd.Flags().IntVar(&flags.parallel, "parallel", 12, "`N` scripts at a time; they mostly wait")
	cmd.Flags().BoolVarP(&flags.verbose, "verbose", "v", false, "list each candidate, and why it was rejected")
	cli.CompleteFlag(cmd, "anomaly", naming.CompleteAnomalies())
	cli.CompleteFlag(cmd, "like", naming.CompleteLocks)
	flags.played.Complete(cmd)
	return cmd
}

func (f *shrinkFlags) check() error {
	if f.anomaly != "" {
		names := cli.Map(checker.Definitions(), func(d checker.Definition) string { return string(d.Name) })
		if err := cli.OneOf("anomaly", f.anomaly, names, cli.See("lab list anomalies")); err != nil {
			return err
		}
	}
	if err := f.played.Check(); err != nil {
		return err
	}
	switch {
	case f.client != "" && f.played.World == lab.Sim:
		return cli.Usagef("--world sim and --client do not go together: there is no model of a program")
	case f.like != "" && f.client == "":
		return cli.Usagef("--like says what a --client is asked for; add --client, or remove --like")
	case f.within <= 0:
		return cli.Usagef("--within must be more than 0, not %v", f.within)
	case f.parallel < 1:
		return cli.Usagef("--parallel must be at least 1, not %d", f.parallel)
	case f.lease < play.MinLease || f.lease > play.MaxLease:
		return cli.Usagef("--lease must be from %v to %v, not %v", play.MinLease, play.MaxLease, f.lease)
	}
	return cli.CheckScriptOut(f.out)
}

// run carries lab shrink out.
func (f *shrinkFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	cell, events, err := readCell(cmd.Context(), args)
	if err != nil {
		return err
	}
	found := lab.AnomaliesToShow(cell.Verdict, f.anomaly)
	if len(found) == 0 {
		shows := cell.Verdict.String()
		if f.anomaly != "" {
			shows = f.anomaly + " nowhere"
		}
		return cli.Usagef("%s/%s shows %s; there is nothing to shrink", cell.Lock, cell.Scenario, shows)
	}
	if spec, ok := impls.Find(cell.Lock); ok && len(cell.Client) == 0 {
		if err := f.played.For(cmd, spec); err != nil && f.played.World == lab.Live {
			return err
		}
	}
	subject, err := f.subject(cmd, args, cell)
	if err != nil {
		return err
	}
	screen := newShrinkScreen(cmd, f, args, cell)
	shrunk, err := lab.Shrink(cmd.Context(), lab.ShrinkPlan{
		Subject: subject, Events: events, Anomalies: found, Lease: f.lease, Setting: f.played.Setting(), Within: f.within, Parallel: f.parallel, Attempt: screen.attempt,
	})
	screen.stop()
	switch {
	case context.Cause(cmd.Context()) != nil:
		return errors.Join(screen.interrupted(), err)
	case err != nil:
		return err
	case shrunk.Script == nil:
		return screen.nothing(shrunk)
	}
	text := scenarios.Format(shrunk.Script)
	if f.out != "" {
		if err := cli.WriteScript(f.out, text); err != nil {
			return err
		}
	}
	if _, err := cmd.OutOrStdout().Write(text); err != nil {
		return err
	}
	screen.result(shrunk)
	return nil
}

// subject is the lock of a cell. A foreign client is judged by the promises that its storm was judged by. It is started by the user's own word only:
// a run may be a stranger's.
func (f *shrinkFlags) subject(cmd *cobra.Command, args []string, cell record.Cell) (none play.Subject, err error) {
	spec, ok := impls.Find(cell.Lock)
	switch {
	case len(cell.Client) == 0 && f.client != "":
		return none, cli.Usagef("%s/%s was not run with a client; remove --client", cell.Lock, cell.Scenario)
	case len(cell.Client) == 0 && !ok:
		return none, cli.Usagef("%s is no lock of the lab", cell.Lock)
	case len(cell.Client) == 0:
		return play.SubjectOf(spec), nil
	case f.client == "":
		again := slices.Concat([]string{"shrink"}, args, []string{"--client", cell.Client[len(cell.Client)-1]})
		return none, cli.Usagef("%s is the lock of a client, which shrink starts only if you name its command: %s %s", cell.Lock, cli.Program(), format.ShellLine(again))
	}
	subjects, err := (&option.Subjects{Programs: []string{f.client}, Like: f.like}).ProgramSubjects()
	if err != nil {
		return none, err
	}
	subject, err := lab.Meet(cmd.Context(), f.played.Setting(), subjects[0])
	if err != nil {
		return none, err
	}
	if subject.Name != cell.Lock {
		return none, cli.Usagef("--client: its lock is %s, and that of the cell %s", subject.Name, cell.Lock)
	}
	if cell.Expected.By == record.ByPromises {
		subject.Spec.Promises = storm.ContractIn(cell.Expected).Promises
	}
	return subject, nil
}

// readCell reads the cell that the user named, by its run or by its own directory.
func readCell(ctx context.Context, args []string) (record.Cell, []history.Event, error) {
	dir, own := lab.RunOf(args[0])
	run, err := Read(dir)
	if err != nil {
		return record.Cell{}, nil, err
	}
	cell, err := cellOf(run, own, args[1:])
	if err != nil {
		return cell, nil, err
	}
	cell, file, err := lab.ReadCell(ctx, run, cell)
	if err != nil {
		return cell, nil, err
	}
	return cell, file.Events, nil
}

// cellOf is the cell with that directory, or of that name; without either, the first that broke a promise, or was broken.
func cellOf(run *record.Run, dir string, names []string) (record.Cell, error) {
	if dir != "" {
		i := slices.IndexFunc(run.Cells, func(c record.Cell) bool { return c.Dir == dir })
		if i < 0 {
			return record.Cell{}, cli.Usagef("%s is no cell of %s", dir, run.Dir)
		}
		return run.Cells[i], nil
	}
	caught := func(c record.Cell) bool {
		return c.Storm != nil && c.Storm.First != nil && (len(names) == 0 || naming.Cell(c) == names[0])
	}
	if i := slices.IndexFunc(run.Cells, caught); i >= 0 && len(names) < 2 {
		return run.Cells[i], nil
	}
	return pickCell(run, names, 0)
}
