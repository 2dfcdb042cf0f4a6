package option

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
)

// Where runs are kept, and how many of them, unless a flag says otherwise.
const (
	DefaultRuns = "runs"
	DefaultKeep = 20
)

// Results say what is kept of a run, and where: in Dir or, without that, in a directory of its own in Runs.
type Results struct {
	Dir, Runs      string
	Keep           int // runs
	junit, summary string
	annotate       bool
}

// Bind binds the flags of a run.
func (f *Results) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.Dir, "out", "", "write the results to `DIR` (default runs/<time>-<id>)")
	f.BindRuns(flags)
	flags.StringVar(&f.junit, "junit", "", "also write a JUnit report to `FILE`")
	flags.StringVar(&f.summary, "summary", "", "also append a summary in Markdown to `FILE`, such as $GITHUB_STEP_SUMMARY")
	flags.BoolVar(&f.annotate, "annotate", false, "also write GitHub's annotations of surprises and failures, on stderr")
}

// BindRuns binds the flags about the directory of all runs.
func (f *Results) BindRuns(flags *pflag.FlagSet) {
	flags.StringVar(&f.Runs, "runs", DefaultRuns, "keep runs in `DIR`, each in a directory of its own")
	flags.IntVar(&f.Keep, "keep", DefaultKeep, "keep the `N` newest runs there and remove the others; 0 keeps all")
}

// Check finds what is wrong with the values.
func (f *Results) Check() error {
	if f.Keep < 0 {
		return cli.Usagef("--keep must be at least 0, not %d", f.Keep)
	}
	return nil
}

// Plan says what is kept of a run that is about to begin.
func (f *Results) Plan() lab.Results {
	if f.Dir != "" {
		return lab.Results{Dir: f.Dir}
	}
	return lab.Results{Dir: filepath.Join(f.Runs, lab.NewID()), Latest: true, Most: f.Keep}
}

// Path is the run's directory as a user names it.
func (f *Results) Path() string {
	if f.Dir != "" {
		return f.Dir
	}
	return filepath.ToSlash(filepath.Join(f.Runs, "latest"))
}

// Sink adds the reports that were asked for to a screen.
func (f *Results) Sink(screen report.Sink, stderr io.Writer) (report.Sink, error) {
	sinks := []report.Sink{screen}
	if f.annotate {
		sinks = append(sinks, report.AtEnd(func(run *record.Run) error { return report.Annotations(stderr, run) }))
	}
	if f.junit != "" {
		file, err := openOut("--junit", f.junit, 0) // an old report stays until there is a new one
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, report.AtEnd(func(run *record.Run) error {
			return errors.Join(file.Truncate(0), report.JUnit(file, run), file.Close())
		}))
	}
	if f.summary != "" {
		file, err := openOut("--summary", f.summary, os.O_APPEND)
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, report.AtEnd(func(run *record.Run) error { return errors.Join(report.Summary(file, run), file.Close()) }))
	}
	return report.Tee(sinks...), nil
}

// RefuseJUnit is for results of which there is no JUnit report.
func (f *Results) RefuseJUnit(what string) error {
	if f.junit == "" {
		return nil
	}
	return cli.Usagef("--junit: %s, of which there is no JUnit report; remove --junit", what)
}

// openOut opens the file of a flag before anything is run.
func openOut(flag, path string, how int) (*os.File, error) {
	if err := cli.CheckOut(flag, path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o644)
	if err != nil {
		return nil, cli.Usagef("%s: %v", flag, cli.Plainly(err))
	}
	return file, nil
}
