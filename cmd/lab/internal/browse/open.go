package browse

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/cmd/lab/internal/saved"
	"github.com/locklab/locklab/internal/report/figures"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/report/terminal"
)

// Open is lab open.
func Open() *cobra.Command {
	runs, noOpen := "", false
	cmd := &cobra.Command{
		Use:   "open [RUN]",
		Short: "Open the report of a run in a browser",
		Long: `Open opens the report of a run in the browser, by default that of the newest run
in runs/. It prints the path of the report. If stdout is a pipe or a file, it
only prints the path.`,
		Example: `  lab open
  lab open runs/latest
  lab open --no-open`,
		Args:              cli.Args(0, 1, "open takes one run, not %d; lab serve shows several"),
		ValidArgsFunction: naming.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			find := func() (string, error) { return newestPage(runs) }
			if len(args) > 0 {
				find = func() (string, error) { return pageOf(args[0]) }
			}
			page, err := find()
			if err != nil {
				return err
			}
			return announce(cmd, page, page, noOpen)
		},
	}
	cmd.Flags().StringVar(&runs, "runs", option.DefaultRuns, "look for the newest run in `DIR`")
	bindNoOpen(cmd.Flags(), &noOpen)
	return cmd
}

func bindNoOpen(flags *pflag.FlagSet, noOpen *bool) {
	flags.BoolVar(noOpen, "no-open", false, "only print where it is")
}

// pages are the files that are reports, of runs and of measurements.
var pages = []string{rundir.PageFile, figures.Page}

// newestPage is the newest report below a directory. A run that goes on has none yet.
func newestPage(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", cli.Usagef("--runs: %v", cli.Plainly(err))
	}
	var newest string
	var written time.Time
	for _, entry := range entries {
		for _, name := range pages {
			page := filepath.Join(dir, entry.Name(), name)
			info, err := os.Stat(page)
			if err == nil && entry.IsDir() && !info.ModTime().Before(written) { // the link to the latest is one of the others
				newest, written = page, info.ModTime()
			}
		}
	}
	if newest == "" {
		return "", cli.Nothingf("there is no report in %s; lab run makes one, and lab serve shows runs that did not come to their end", dir)
	}
	return newest, nil
}

// pageOf is the report of a run, or of a measurement.
func pageOf(path string) (string, error) {
	for _, name := range pages {
		page := filepath.Join(path, name)
		if _, err := os.Stat(page); err == nil {
			return page, nil
		}
	}
	run, err := saved.Read(path)
	if err != nil {
		return "", err
	}
	if path != run.Dir { // the file of a run was named
		return pageOf(run.Dir)
	}
	return "", cli.Nothingf("%s has no report: it did not come to its end; lab serve %s shows what it has", run.Dir, run.Dir)
}

// announce prints the address of a page, or its file, and opens it in a browser if a person sits there, perhaps by another address.
func announce(cmd *cobra.Command, page, opened string, noOpen bool) error {
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), page); err != nil {
		return err
	}
	out, isFile := cmd.OutOrStdout().(*os.File)
	if noOpen || !isFile || !terminal.IsTerminal(out) {
		return nil
	}
	if err := browse(opened); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "lab: no browser was opened (%v); open that by yourself\n", err)
	}
	return nil
}

// browse has the system open an address or a file. What it starts for that outlives the lab, and Ctrl-C.
func browse(page string) error {
	if _, err := os.Stat(page); err == nil {
		whole, err := filepath.Abs(page)
		if err != nil {
			return err
		}
		page = (&url.URL{Scheme: "file", Path: filepath.ToSlash(whole)}).String()
	}
	argv := append(opener(runtime.GOOS), page)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// opener is the command by which a system opens a page.
func opener(system string) []string {
	switch system {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}
