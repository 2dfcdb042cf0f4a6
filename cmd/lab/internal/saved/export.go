package saved

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/internal/export"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
)

type exportFlags struct {
	format string
	out    string
	round  int
}

// Export is lab export.
func Export() *cobra.Command {
	var f exportFlags
	var formats strings.Builder
	for _, format := range export.Formats() {
		fmt.Fprintf(&formats, "  %-10s %s\n", format.Name, format.Idea)
	}
	cmd := &cobra.Command{
		Use:   "export DIR [LOCK/SCENARIO]",
		Short: "Write a cell for other people's viewers and tools",
		Long: `Export writes one cell of a saved run in a format of others, to stdout or to
--out FILE. Without a cell, --out is a directory: it gets a file for each cell
that was started and is not n/a. The formats:

` + formats.String() + `
docs/exports.md says what each of them shows. Of a cell that was run several
times, export takes the round that explain does; without a cell, all of them.`,
		Example: `  lab export runs/latest setpx-lua/pause-past-lease --format perfetto \
      --out trace.json
  lab export runs/latest setpx-lua/pause-past-lease --format edn
  lab export runs/latest --format porcupine --out pages`,
		Args:              runAndCell("; without a cell and with --out DIR it writes all"),
		ValidArgsFunction: naming.CompleteCells,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.export(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "the `FORMAT`: "+cli.Enumerate(formatNames(), "or"))
	flags.StringVar(&f.out, "out", "", "write to `FILE`; without a cell: to a directory")
	flags.IntVar(&f.round, "round", 0, "export round `N` of a cell that was run several times")
	cli.CompleteFlag(cmd, "format", cli.Complete(export.Formats(), func(format export.Format) (string, string) { return format.Name, format.Idea }))
	return cmd
}

func formatNames() []string {
	return cli.Map(export.Formats(), func(format export.Format) string { return format.Name })
}

func (f *exportFlags) export(cmd *cobra.Command, args []string) error {
	cli.CollectMore()
	formats := export.Formats()
	i := slices.IndexFunc(formats, func(format export.Format) bool { return format.Name == f.format })
	switch {
	case f.format == "":
		return cli.Usagef("export needs --format: %s", cli.Enumerate(formatNames(), "or"))
	case i < 0:
		return cli.UnknownName("format", f.format, formatNames(), "there are "+cli.Enumerate(formatNames(), "and"))
	}
	run, err := Read(args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 && len(run.Cells) > 1 && f.out != "" && f.round == 0 {
		return f.all(cmd, run, formats[i])
	}
	cell, err := pickCell(run, args[1:], f.round)
	if len(args) == 1 && err != nil {
		return fmt.Errorf("%w; or name a directory with --out, for all cells", err)
	}
	if err != nil {
		return err
	}
	text, err := exported(cmd.Context(), run, cell, formats[i])
	if err != nil {
		return err
	}
	if f.out == "" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	if info, err := os.Stat(f.out); err == nil && info.IsDir() {
		return cli.Usagef("--out: %s is a directory; name a file for the cell, or no cell, to write all of them", f.out)
	}
	if err := cli.CheckOut("--out", f.out); err != nil {
		return err
	}
	return toFile(f.out, text)
}

// all writes a file for each cell, in the layout of the run.
func (f *exportFlags) all(cmd *cobra.Command, run *record.Run, format export.Format) error {
	if info, err := os.Stat(f.out); err == nil && !info.IsDir() {
		return cli.Usagef("--out: %s is a file; all cells of a run need a directory, and one cell its name", f.out)
	}
	written, left := 0, 0
	for _, cell := range run.Cells {
		if cell.Verdict.Kind == checker.NotApplicable {
			left++
			continue
		}
		text, err := exported(cmd.Context(), run, cell, format)
		if errors.Is(err, fs.ErrNotExist) && !run.Finished {
			left++
			continue
		}
		if err != nil {
			return err
		}
		path := filepath.Join(f.out, cell.Dir+format.Ext)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return cli.Usagef("--out: %v", cli.Plainly(err))
		}
		if err := toFile(path, text); err != nil {
			return err
		}
		written++
	}
	if written == 0 {
		return cli.Nothingf("nothing to export: all %d cells of %s are n/a or were not started", left, run.Dir)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d cells written to %s; %d that are n/a or were not started are left out\n", written, f.out, left)
	return nil
}

// exported is a cell in a format.
func exported(ctx context.Context, run *record.Run, cell record.Cell, format export.Format) ([]byte, error) {
	cell, file, err := readHistory(ctx, run, cell)
	if err != nil {
		return nil, err
	}
	c := &export.Cell{Cell: cell, Base: file.Header.Base, Lab: run.Lab, Events: file.Events}
	return textOf(ctx, func(w io.Writer) error { return format.Write(w, c) })
}

// toFile writes a file, whole or not at all.
func toFile(path string, text []byte) error {
	err := rundir.WriteFile(path, text)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return cli.Usagef("--out: %v", err)
	}
	return err
}
