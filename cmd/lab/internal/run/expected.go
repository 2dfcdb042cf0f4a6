package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// expectations are the flags about what is expected.
type expectations struct {
	expect, baseline string
	update           bool
}

func (f *expectations) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.expect, "expect", "", "expect what the table in `FILE` says; --update writes it")
	flags.StringVar(&f.baseline, "baseline", "", "ignore the surprises of an earlier run: `FILE` is its directory or its run.json")
	flags.BoolVar(&f.update, "update", false, "write the verdicts into the table of --expect, or into scenarios/expected.txt, for review")
}

// known are the surprises of the baseline; those that are to be accepted are no news either.
func (f *expectations) known() (func(record.Cell) bool, error) {
	switch {
	case f.update && f.baseline != "":
		return nil, cli.Usagef("--update accepts every surprise; remove --baseline")
	case f.update:
		return record.Cell.Surprise, nil
	case f.baseline == "":
		return nil, nil
	}
	known, err := lab.Baseline(f.baseline)
	if err != nil {
		return nil, cli.Usagef("--baseline: %v", err)
	}
	return known, nil
}

// matrixPath is where the reviewed matrix lies in the sources.
func matrixPath() string { return filepath.Join("scenarios", "expected.txt") }

// table is what is expected: the reviewed matrix, and before it the user's own.
type table struct {
	builtin *scenarios.Matrix
	own     *scenarios.Matrix // nil: there is none
	path    string            // of the one that --update writes
}

// table reads what is expected: the matrix as it came with the lab or, if it is to be rewritten, as it stands in the sources; and the file of
// --expect, which need not exist if it is to be written.
func (f *expectations) table(scripts []*scenarios.Script, ofPrograms bool) (*table, error) {
	if f.expect != "" {
		return f.ownTable()
	}
	if !f.update {
		builtin, err := scenarios.BuiltinExpected()
		return &table{builtin: builtin}, err
	}
	for _, script := range scripts {
		if !script.Builtin {
			return nil, cli.Usagef("--update is for built-in scenarios; remove %s, or name a table of your own by --expect", script.Path)
		}
	}
	if ofPrograms {
		return nil, cli.Usagef("--update is for built-in locks; name a table of your own by --expect, or remove --client")
	}
	src, err := scenarios.ReadFile(matrixPath())
	if err != nil {
		return nil, cli.Usagef("--update rewrites %s; run it in the root of the sources: %v", matrixPath(), cli.Plainly(err))
	}
	builtin, err := scenarios.ParseExpected(matrixPath(), src)
	return &table{builtin: builtin, path: matrixPath()}, err
}

// ownTable reads the file of --expect.
func (f *expectations) ownTable() (*table, error) {
	builtin, err := scenarios.BuiltinExpected()
	if err != nil {
		return nil, err
	}
	t := &table{builtin: builtin, path: f.expect}
	src, err := scenarios.ReadFile(f.expect)
	if errors.Is(err, fs.ErrNotExist) && f.update {
		t.own, err = scenarios.ParseExpected(f.expect, []byte("# Expected verdicts, written by lab run --update: scenario, lock, verdict. Review each line.\n\n"))
		return t, err
	}
	if err != nil {
		return nil, cli.Usagef("--expect: %v; --update writes it", cli.Plainly(err))
	}
	t.own, err = scenarios.ParseExpected(f.expect, src)
	return t, err
}

// expect says what a subject should come to.
func (t *table) expect() func(*scenarios.Script, play.Subject) record.Expectation {
	if t.own == nil {
		return lab.Expect(t.builtin)
	}
	return lab.ExpectIn(t.own, lab.Expect(t.builtin))
}

// accept writes what was seen into the table.
func (t *table) accept(stderr io.Writer, cells []record.Cell) error {
	matrix := t.builtin
	if t.own != nil {
		matrix = t.own
	}
	changed := lab.Accept(matrix, cells)
	var text strings.Builder
	if err := matrix.Write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(t.path, []byte(text.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "lab: %d of %d cells changed in %s; review the diff\n", changed, len(cells), t.path)
	return nil
}
