package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios"
)

// known are the surprises of the baseline; those that are to be accepted are no news either.
func (f *runFlags) known() (func(checker.Cell) bool, error) {
	switch {
	case f.update && f.baseline != "":
		return nil, usagef("--update accepts every surprise; remove --baseline")
	case f.update:
		return checker.Cell.Surprise, nil
	case f.baseline == "":
		return nil, nil
	}
	known, err := lab.Baseline(f.baseline)
	if err != nil {
		return nil, usagef("--baseline: %v", err)
	}
	return known, nil
}

// matrixPath is where the reviewed matrix lies in the sources.
func matrixPath() string { return filepath.Join("scenarios", "expected.txt") }

// matrix is what is expected: as it came with the lab, or, if it is to be rewritten, as it stands in the sources.
func (f *runFlags) matrix(scripts []*scenarios.Script) (*scenarios.Matrix, error) {
	if !f.update {
		return scenarios.BuiltinExpected()
	}
	for _, script := range scripts {
		if !script.Builtin {
			return nil, usagef("--update is for built-in scenarios; remove %s", script.Path)
		}
	}
	if f.client != "" {
		return nil, usagef("--update is for built-in locks; remove --client")
	}
	src, err := scenarios.ReadFile(matrixPath())
	if err != nil {
		return nil, usagef("--update rewrites %s; run it in the root of the sources: %v", matrixPath(), plainly(err))
	}
	return scenarios.ParseExpected(matrixPath(), src)
}

// accept writes what was seen into the reviewed matrix.
func accept(stderr io.Writer, matrix *scenarios.Matrix, cells []checker.Cell) error {
	changed := lab.Accept(matrix, cells)
	var text strings.Builder
	if err := matrix.Write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(matrixPath(), []byte(text.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "lab: %d of %d cells changed in %s; review the diff\n", changed, len(cells), matrixPath())
	return nil
}
