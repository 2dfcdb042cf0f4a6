//go:build !linux && !darwin

package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// The numbers do not matter: without a guard nothing is ever signalled.
const (
	sigStop     = syscall.Signal(0)
	sigContinue = syscall.Signal(0)
	sigKill     = syscall.Signal(0)
)

func supported() error {
	return fmt.Errorf("pausing and killing process groups is not supported on %s: use Linux or macOS", runtime.GOOS)
}

func ignoreSignals() {}

func ownSession(*exec.Cmd) {}

func ownGroup(*exec.Cmd) {}

func signalGroup(int, syscall.Signal) error { return supported() }

func awaitExit(int) error { return supported() }

func members(int) ([]member, error) { return nil, supported() }

func livingByGroup([]int) (map[int]int, error) { return nil, supported() }

func kill(int) error { return supported() }

func marked(string) ([]int, error) { return nil, supported() }

func newTag(string) (*os.File, error) { return nil, supported() }
