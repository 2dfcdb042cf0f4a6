package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/worker"
)

// The first argument of this program when it is one of the processes of a run.
const (
	asGuard  = "locklab-guard"
	asWorker = "locklab-worker"
	asHost   = "locklab-host"
	asBench  = "locklab-bench"
	// asOutside is followed by a shell command.
	asOutside = "locklab-outside"
)

// Serve makes this program able to be the processes of a run in the live world, which are started from its own binary: clients that know
// these locks, those of a measurement too, hosts of embedded servers, and the guard that cleans up after a run that was killed. Call it first in main, or in TestMain. If the program was
// started as such a process, Serve does not return.
func Serve(locks ...impls.Spec) {
	if len(os.Args) < 2 {
		return
	}
	var err error
	switch os.Args[1] {
	case asGuard:
		err = live.GuardMain(os.Stdin, os.Stdout)
	case asWorker:
		err = worker.Main(context.Background(), locks)
	case asBench:
		err = measure.ClientMain(context.Background(), os.Stdin, os.Stdout, locks)
	case asOutside:
		err = live.OutsideMain(os.Stdin, os.Stdout, os.Args[len(os.Args)-1])
	case asHost:
		err = live.HostMain(os.Stdin, os.Stdout)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

var errNotServed = errors.New("this process was started as a part of a run, but the program does not serve as one: call lab.Serve first in main, or in TestMain")

// self is the command that runs this program as a process of a run. Without Serve, a test binary runs no test in its place.
func self(as string) ([]string, error) {
	if len(os.Args) > 1 && slices.Contains([]string{asGuard, asWorker, asHost, asBench, asOutside}, os.Args[1]) {
		return nil, errNotServed
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argv := []string{path, as}
	if strings.HasSuffix(path, ".test") {
		argv = append(argv, "-test.run=^$")
	}
	return argv, nil
}
