//go:build unix

package supervise

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// What the child says about its stops.
const (
	stopping  = 's' // it is about to stop itself
	continued = 'c' // it runs again
)

const (
	stopPeriod     = 100 * time.Millisecond // between two looks of the child at its parent
	continuePeriod = 10 * time.Millisecond  // between two SIGCONTs for a child that does not run yet
)

// stopWithParent stops this process while its parent is stopped. A SIGSTOP cannot be caught and passed on, nor a SIGTSTP that names the parent
// alone, so the child has to look. It tells the parent first, which continues it as soon as it runs again, be that at once.
func stopWithParent(parent int, tell io.Writer) {
	for range time.Tick(stopPeriod) {
		if !stopped(parent) {
			continue
		}
		if _, err := tell.Write([]byte{stopping}); err != nil {
			return // the parent is gone
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		if _, err := tell.Write([]byte{continued}); err != nil {
			return
		}
	}
}

// continueChild continues the child whenever it has stopped itself, until from ends. It asks again: a SIGCONT that comes before the stop has no
// effect.
func continueChild(from *os.File, child *os.Process) {
	word := []byte{continued}
	for {
		deadline := time.Time{}
		if word[0] == stopping {
			_ = child.Signal(syscall.SIGCONT)
			deadline = time.Now().Add(continuePeriod)
		}
		_ = from.SetReadDeadline(deadline) // pipes have deadlines
		if _, err := from.Read(word); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}
