package lab

import (
	"errors"
	"io"

	"github.com/locklab/locklab/internal/listing/golang"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/page"
)

// CellName names a cell of a run, whatever its round.
type CellName struct{ Lock, Scenario, Workload string }

// WriteDiff writes cells of two runs side by side as a page. The lead and the facts are the caller's.
func WriteDiff(path string, cells []CellName, old, new *record.Run, diff page.Diff) error {
	sources, err := golang.Read()
	if err != nil {
		return err
	}
	was, is := HistoriesOf(old), HistoriesOf(new)
	diff.Old, diff.New, diff.Sources = was, is, sources
	for _, name := range cells {
		diff.Pairs = append(diff.Pairs, pairOf(old, new, name))
	}
	err = writeFile(path, func(w io.Writer) error { return page.DiffHTML(w, diff) })
	return errors.Join(err, was.Close(), is.Close())
}

// pairOf is a cell of two runs: of several rounds those that differ, if any do.
func pairOf(old, new *record.Run, name CellName) (pair page.Pair) {
	before, after := roundsOf(old, name), roundsOf(new, name)
	if len(before) > 0 {
		pair.Old = before[0]
	}
	if len(after) > 0 {
		pair.New = after[0]
	}
	for _, one := range before {
		for _, other := range after {
			if !one.Verdict.Same(other.Verdict) || (one.Failure == "") != (other.Failure == "") {
				return page.Pair{Old: one, New: other}
			}
		}
	}
	return pair
}

func roundsOf(run *record.Run, name CellName) (list []*record.Cell) {
	for i := range run.Cells {
		if c := &run.Cells[i]; name == (CellName{c.Lock, c.Scenario, c.Workload}) {
			list = append(list, c)
		}
	}
	return list
}
