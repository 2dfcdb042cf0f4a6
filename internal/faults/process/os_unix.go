//go:build linux || darwin

package process

import (
	"errors"
	"os/signal"
	"syscall"
)

const (
	sigStop     = syscall.SIGSTOP
	sigContinue = syscall.SIGCONT
	sigKill     = syscall.SIGKILL
)

func supported() error { return nil }

func ignoreSignals() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

// signalGroup signals every member of the group. A group that is gone is no error.
func signalGroup(pgid int, sig syscall.Signal) error {
	if err := syscall.Kill(-pgid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
