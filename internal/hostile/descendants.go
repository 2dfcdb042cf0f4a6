//go:build linux || darwin

package hostile

import (
	"os"
	"os/exec"
	"syscall"
)

// leavesDescendants starts processes that sleep for a day: one keeps the environment, one the standard output, one nothing.
func leavesDescendants(s *scene) error {
	for _, keeps := range []struct{ environment, output bool }{{true, true}, {false, true}, {false, false}} {
		sleeper := exec.Command("sleep", "86400")
		sleeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if !keeps.environment {
			sleeper.Env = []string{}
		}
		if keeps.output {
			sleeper.Stdin, sleeper.Stdout, sleeper.Stderr = s.stdin, s.stdout, os.Stderr
		}
		if err := sleeper.Start(); err != nil {
			return err
		}
	}
	return nil
}
