package live

import (
	"fmt"
	"math"
)

// filesPerCell is how many files, sockets mostly, a cell has open at most, in a scenario of the lab's.
const filesPerCell = 250

// MostCells is how many cells may run at once, by the number of files that this process may have open.
func MostCells() int { return int(min(fileLimit()/filesPerCell, math.MaxInt32)) }

// enoughFiles returns an error if not even one cell can run.
func enoughFiles() error {
	if MostCells() > 0 {
		return nil
	}
	return fmt.Errorf("this process may have %d files open, and a cell needs up to %d: raise the limit (ulimit -n)", fileLimit(), filesPerCell)
}
