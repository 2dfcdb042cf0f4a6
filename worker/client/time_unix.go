//go:build unix

package client

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of the processors: a lock that computes is slow by itself.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
