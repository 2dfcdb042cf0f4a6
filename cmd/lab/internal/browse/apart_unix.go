//go:build unix

package browse

import "syscall"

// apart has a process be in a group of its own, so that Ctrl-C is not for it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
