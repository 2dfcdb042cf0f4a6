//go:build unix

package process

import (
	"math"
	"syscall"
)

// MostFiles is how many files this process may have open. The Go runtime has raised it to what the system allows.
func MostFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return uint64(limit.Cur)
}
