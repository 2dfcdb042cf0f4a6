// Command etcd is a client of the lab for etcd's own lock: the recipe of its client library, a Session with a Mutex. See README.md.
//
// It owns what the recipe needs to be a lock of the lab. It must not know scripts, faults or histories.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/worker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-client:", err)
		os.Exit(1)
	}
}

// run serves the lab's requests, or takes part in a measurement.
func run(args []string) error {
	if ours, err := measure.ProgramMain(context.Background(), args, os.Stdin, os.Stdout, Specs()); ours {
		return err
	}
	flags := flag.NewFlagSet("etcd-client", flag.ContinueOnError)
	name := flags.String("lock", "etcd", "which `LOCK`: etcd, etcd-fenced or etcd-counted")
	if err := flags.Parse(args); err != nil {
		return err
	}
	spec, found := impls.Lookup(Specs(), *name)
	if !found || flags.NArg() > 0 {
		return fmt.Errorf("unknown lock %q %v; see -h", *name, flags.Args())
	}
	return worker.Program(context.Background(), spec)
}
