//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// columnsOf is the width of a terminal; 0 for a file that is none.
func columnsOf(file *os.File) int {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
