//go:build unix

package client

import "syscall"

// processorTime is how many ns this process has used of the processors: a lock that computes is slow by itself.
func processorTime() int64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Utime.Nano() + used.Stime.Nano()
}
