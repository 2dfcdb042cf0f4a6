package supervise

import "golang.org/x/sys/unix"

// stateStopped is SSTOP of sys/proc.h.
const stateStopped = 4

// stopped says whether a signal has stopped a process.
func stopped(pid int) bool {
	about, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && about.Proc.P_stat == stateStopped
}
