//go:build unix && !linux && !darwin

package supervise

// stopped cannot say whether a process is stopped: the child goes on.
func stopped(int) bool { return false }
