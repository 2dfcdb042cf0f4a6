package live

import (
	"fmt"
	"math"

	"github.com/locklab/locklab/internal/faults/process"
)

// filesPerCell is how many files, sockets mostly, a cell has open at most, in a scenario of the lab's.
const filesPerCell = 250

// MostCells is how many cells may run at once, by the number of files that this process may have open.
func MostCells() int { return int(min(process.MostFiles()/filesPerCell, math.MaxInt32)) }

// enoughFiles returns an error if not even one cell can run.
func enoughFiles() error {
	if MostCells() > 0 {
		return nil
	}
	return fmt.Errorf("this process may have %d files open, and a cell needs up to %d: raise the limit (ulimit -n)", process.MostFiles(), filesPerCell)
}
