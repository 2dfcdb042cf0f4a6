//go:build unix && !linux

package supervise

import "syscall"

// withParent adds nothing: the child notices the end of its pipe.
func withParent() *syscall.SysProcAttr { return nil }
