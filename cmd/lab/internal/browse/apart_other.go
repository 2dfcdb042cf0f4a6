//go:build !unix

package browse

import "syscall"

// apart is nothing here.
func apart() *syscall.SysProcAttr { return nil }
