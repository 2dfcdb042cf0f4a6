package client

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/cmd/lab/internal/write"
	"github.com/locklab/locklab/internal/grade"
	"github.com/locklab/locklab/internal/kits"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// gradeTimeout is after how long a scenario is given up: one with a lock that works takes three seconds, or twelve if the host is slow. A lock that works is
// never to fail by it, so it is long.
const gradeTimeout = 30 * time.Second

// gradeFlags are the flags of lab grade as given.
type gradeFlags struct {
	results               option.Results
	client, dir, language string
	argv                  []string // that start the client; nil: there is none to be graded
	given                 []string // the same as words of this command
}

// Grade is lab grade.
func Grade() *cobra.Command {
	flags := &gradeFlags{}
	cmd := &cobra.Command{
		Use:   "grade [EXERCISE] [-- CLIENT...]",
		Short: "Exercises: mend a broken lock, and see what it survives",
		Long: `Grade has six broken locks to mend, one for each step from SETNX to a fencing
token. Without arguments it lists them; with the name of an exercise it prints
the task; --new copies the broken lock into a directory of yours.

With a client it plays the scenarios of the course up to that exercise, and says
which chapters the lock survives. For each failure it says what happened, and
gives a hint. A client may be in any language (docs/protocol.md).

The exit code is 0 if the lock survives all chapters of the exercise, 1 if not,
and 2 if the machine was too slow to tell.`,
		Example: `  lab grade
  lab grade crash --new mylock
  lab grade crash --new mylock --language go
  lab grade crash -- python3 mylock/client.py
  lab grade crash --client 'python3 mylock/client.py'`,
		ValidArgsFunction: cobra.FixedCompletions(exerciseNames(), cobra.ShellCompDirectiveDefault),
		RunE:              flags.run,
	}
	cmd.Flags().StringVar(&flags.client, "client", "", "grade the client that `COMMAND` starts")
	cmd.Flags().StringVar(&flags.dir, "new", "", "copy the broken lock into `DIR`, to edit")
	cmd.Flags().StringVar(&flags.language, "language", grade.Languages()[0], "with --new: `LANGUAGE` is "+cli.Enumerate(grade.Languages(), "or"))
	cmd.Flags().StringVar(&flags.results.Dir, "out", "", "write the results to `DIR` (default runs/<time>-<id>)")
	flags.results.Runs, flags.results.Keep = option.DefaultRuns, option.DefaultKeep
	cli.CompleteFlag(cmd, "language", cli.Fixed(grade.Languages()...))
	return cmd
}

func exerciseNames() []string {
	return cli.Map(grade.Exercises(), func(exercise grade.Exercise) string { return exercise.Name })
}

func (f *gradeFlags) run(cmd *cobra.Command, args []string) error {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		f.argv, f.given, args = args[at:], append([]string{"--"}, args[at:]...), args[:at]
	}
	if err := f.check(cmd, args); err != nil {
		return err
	}
	if len(args) == 0 {
		return listExercises(cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout()))
	}
	exercise, ok := grade.Find(args[0])
	switch {
	case !ok:
		return cli.UnknownName("exercise", args[0], exerciseNames(), cli.See("lab grade"))
	case f.dir != "":
		return f.begin(cmd.OutOrStdout(), exercise)
	case f.argv == nil:
		return showTask(cmd.OutOrStdout(), exercise)
	}
	return f.grade(cmd, exercise)
}

// check looks at flags and arguments that do not go together.
func (f *gradeFlags) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	switch {
	case len(args) > 1:
		return cli.Usagef("grade takes one exercise, and the command of your client behind --, for example: lab grade %s -- python3 mylock/client.py", exerciseNames()[0])
	case given("new") && f.dir == "":
		return cli.Usagef("--new needs a directory, for example: lab grade %s --new mylock", exerciseNames()[0])
	case given("new") && (given("client") || f.argv != nil):
		return cli.Usagef("--new begins an exercise, a client is graded: do one after the other")
	case given("language") && !given("new"):
		return cli.Usagef("--language is for --new: a client is graded in any language")
	case !slices.Contains(grade.Languages(), f.language):
		return cli.UnknownName("language of an exercise", f.language, grade.Languages(),
			fmt.Sprintf("there are %s; in another one, begin with %s, and write the broken lock into it", cli.Enumerate(grade.Languages(), "and"), `"lab new"`))
	}
	if err := f.checkClient(given("client")); err != nil {
		return err
	}
	if len(args) == 0 && (f.argv != nil || f.dir != "") {
		return cli.Usagef("which exercise? There are %s", cli.Enumerate(exerciseNames(), "and"))
	}
	return nil
}

// checkClient looks at the command of the client. flag says whether it is given by --client.
func (f *gradeFlags) checkClient(flag bool) error {
	switch {
	case flag && f.argv != nil:
		return cli.Usagef("the client is given twice: by --client and behind --")
	case flag && strings.TrimSpace(f.client) == "":
		return cli.Usagef("--client needs a command, for example 'python3 mylock/client.py'")
	case flag:
		f.argv, f.given = []string{"/bin/sh", "-c", f.client}, []string{"--client", f.client}
	case f.argv != nil && (len(f.argv) == 0 || f.argv[0] == ""):
		return cli.Usagef("-- needs the command of your client, for example: lab grade %s -- python3 mylock/client.py", exerciseNames()[0])
	}
	return nil
}

// listExercises is what lab grade prints by itself.
func listExercises(w io.Writer, width int) error {
	rows := cli.Map(grade.Exercises(), func(exercise grade.Exercise) []string { return []string{exercise.Name, exercise.Title} })
	rows = append([][]string{{"EXERCISE", "MEND"}}, rows...)
	if err := cli.WriteTable(w, width, "", rows); err != nil {
		return err
	}
	first := rows[1][0]
	_, err := io.WriteString(w, "\n"+cli.Next(w, []string{"task", "grade", first}, []string{"begin", "grade", first, "--new", "mylock"}))
	return err
}

// showTask prints the task of an exercise.
func showTask(w io.Writer, exercise grade.Exercise) error {
	task, err := exercise.Task()
	if err != nil {
		return err
	}
	next := cli.Map(grade.Languages(), func(language string) []string {
		return []string{language, "grade", exercise.Name, "--new", "mylock", "--language", language}
	})
	_, err = fmt.Fprintf(w, "%s\n%s", task, cli.Next(w, next...))
	return err
}

// begin copies the broken lock out.
func (f *gradeFlags) begin(w io.Writer, exercise grade.Exercise) error {
	files, err := exercise.Files(f.language)
	if err != nil {
		return err
	}
	kit, ok := kits.Find(f.language)
	if !ok {
		return fmt.Errorf("there is no kit for %s", f.language)
	}
	command, err := write.Kit(w, kit, f.dir, files)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Read %s, and mend %s\n\n%s", filepath.Join(f.dir, "README.md"), filepath.Join(f.dir, kit.Lock),
		cli.Next(w, []string{"grade", "grade", exercise.Name, "--client", command}))
	return err
}

// grade plays the exercise's scenarios with the client, and says what it survives.
func (f *gradeFlags) grade(cmd *cobra.Command, exercise grade.Exercise) error {
	scripts, err := exercise.Scripts()
	if err != nil {
		return err
	}
	setting := lab.Setting{World: lab.Live, Server: live.Embedded, Timeout: gradeTimeout, Alone: true}
	subject, err := lab.Meet(cmd.Context(), setting, play.Subject{Name: "client", Argv: f.argv}, scripts...)
	if err != nil {
		return err
	}
	if n := subject.Traits.Permits; n > 1 {
		return &lab.ClientError{Why: fmt.Sprintf("hello says that %d clients may hold its lock at a time (permits), and an exercise is about a lock with one holder", n)}
	}
	// What a chapter tolerates is no surprise either, so nothing is expected of single cells.
	expect := func(*scenarios.Script, play.Subject) record.Expectation {
		return record.Expectation{By: record.ByDefault}
	}
	run, err := lab.Run(cmd.Context(), lab.Plan{Cases: lab.Cases(scripts, []play.Subject{subject}, 1, expect), Options: lab.Options{
		Setting: setting, Results: f.results.Plan(), Sink: gradeProgress(cmd), Command: os.Args[1:],
	}})
	if err != nil {
		return err
	}
	for _, cell := range run.Cells {
		if lab.OutcomeOfCell(cell) == lab.Failed {
			return fmt.Errorf("%s: %s", naming.Cell(cell), format.Clean(cell.Verdict.Reason))
		}
	}
	results := exercise.Judge(run.Cells)
	if err := f.write(cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout()), exercise, results); err != nil {
		return err
	}
	return cli.Exit([...]int{grade.Survived: cli.CodeExpected, grade.Undecided: cli.CodeUnknown, grade.Failed: cli.CodeSurprise}[grade.Worst(results)])
}

// gradeProgress says on stderr how far the scenarios have come.
func gradeProgress(cmd *cobra.Command) report.Sink {
	meter := cli.Meter(cmd, false)
	return progressSink(func(e report.Event) {
		if e.Kind == report.RunEnd {
			meter.Clear()
			return
		}
		meter.Show(time.Since(e.Run.Started), fmt.Sprintf("%d of %d scenarios", e.Done, e.Total))
	})
}

type progressSink func(report.Event)

func (show progressSink) Handle(e report.Event) error {
	show(e)
	return nil
}

// write is the screen of a grade.
func (f *gradeFlags) write(w io.Writer, width int, exercise grade.Exercise, results []grade.Result) error {
	var b strings.Builder
	survived := 0
	rows := [][]string{}
	for _, r := range results {
		if r.Outcome == grade.Survived {
			survived++
		}
		rows = append(rows, []string{[...]string{grade.Survived: "survives", grade.Undecided: "unknown", grade.Failed: "FAILS"}[r.Outcome], strconv.Itoa(r.Chapter.Number), r.Chapter.Title})
	}
	mended := ""
	if survived == len(results) {
		mended = "mended; "
	}
	fmt.Fprintf(&b, "%s: %sthe lock survives %d of %d chapters\n\n", exercise.Name, mended, survived, len(results))
	if err := cli.WriteTable(&b, width, "  ", rows); err != nil {
		return err
	}
	for _, r := range results {
		if r.Outcome == grade.Survived {
			continue
		}
		fmt.Fprintf(&b, "\nChapter %d, %s: %s\n", r.Chapter.Number, r.Chapter.Title, r.Trial.Scenario)
		parts := [][]string{{"seen", format.Clean(r.Why)}}
		switch {
		case r.Cell.Verdict.Kind == checker.Broken:
			parts = append(parts, []string{"hint", r.Hint()})
		case r.Outcome == grade.Failed: // mostly the fault of the adapter
			parts = append(parts, []string{"check", cli.Program() + " " + format.ShellLine([]string{"doctor", "--client", f.command()})})
		}
		if r.Cell.Dir != "" {
			parts = append(parts, []string{"watch", cli.Program() + " explain " + format.ShellLine([]string{f.results.Path(), naming.Cell(r.Cell)})})
		}
		if err := cli.WriteTable(&b, width, "  ", parts); err != nil {
			return err
		}
	}
	next := [][]string{append([]string{"again", "grade", exercise.Name}, f.given...)}
	if following, ok := exercise.Next(); ok && survived == len(results) {
		next = [][]string{{"next", "grade", following.Name}}
	}
	fmt.Fprintf(&b, "\n%s", cli.Next(w, next...))
	_, err := io.WriteString(w, b.String())
	return err
}

// command is that of the client, as one word of a shell.
func (f *gradeFlags) command() string {
	if f.client != "" {
		return f.client
	}
	return format.ShellLine(f.argv)
}
