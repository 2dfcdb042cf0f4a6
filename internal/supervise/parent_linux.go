package supervise

import "syscall"

// withParent has the system kill the child when its parent is gone, even if it is stopped.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
