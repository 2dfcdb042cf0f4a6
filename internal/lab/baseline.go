package lab

import (
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/scenarios"
)

// Baseline says which surprises an earlier run had: with the same verdict they are no news. The path is that of the run.
func Baseline(path string) (known func(record.Cell) bool, err error) {
	run, err := ReadRun(path)
	if err != nil {
		return nil, err
	}
	return func(cell record.Cell) bool {
		for _, old := range run.Cells {
			if old.Lock == cell.Lock && old.Scenario == cell.Scenario && old.Surprise() && old.Verdict.Same(cell.Verdict) {
				return true
			}
		}
		return false
	}, nil
}

// Accept takes what was seen into a matrix, and says how many of its cells that changed. Cells that could not be decided keep what they
// had.
func Accept(matrix *scenarios.Matrix, cells []record.Cell) (changed int) {
	for _, cell := range cells {
		_, listed := matrix.Lookup(cell.Scenario, cell.Lock)
		if cell.Surprise() || !listed {
			matrix.Set(cell.Scenario, cell.Lock, cell.Verdict)
			changed++
		}
	}
	return changed
}
