// Command postgres is a client of the lab for locks in a PostgreSQL: advisory locks, and SELECT … FOR UPDATE. See README.md.
//
// It owns what these need to be locks of the lab. It must not know scripts, faults or histories.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/worker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "postgres-client:", err)
		os.Exit(1)
	}
}

// run serves the lab's requests, or takes part in a measurement.
func run(args []string) error {
	if ours, err := measure.ProgramMain(context.Background(), args, os.Stdin, os.Stdout, Specs()); ours {
		return err
	}
	flags := flag.NewFlagSet("postgres-client", flag.ContinueOnError)
	name := flags.String("lock", "postgres", "which `LOCK`: postgres, postgres-row or postgres-row-fenced")
	if err := flags.Parse(args); err != nil {
		return err
	}
	spec, found := impls.Lookup(Specs(), *name)
	if !found || flags.NArg() > 0 {
		return fmt.Errorf("unknown lock %q %v; see -h", *name, flags.Args())
	}
	return worker.Program(context.Background(), spec)
}

// Specs are the locks of this program.
func Specs() []impls.Spec {
	promises := []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner, impls.IgnoresClientTime}
	return []impls.Spec{
		{
			Card: impls.Card{
				Name: "postgres", Idea: "pg_try_advisory_lock of the key's hash: it lasts as long as the connection",
				Source: "PostgreSQL, Advisory Locks", Promises: promises, Needs: impls.OnePostgres,
				Contract: history.Contract{Leaseless: true, EndsWithConnection: true}, OneRequest: []string{"acquire", "release"},
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock {
				return &lock{env: env, opts: opts, way: advisory{}}
			},
		},
		{
			Card: impls.Card{
				Name: "postgres-row", Idea: "SELECT ... FOR UPDATE of the key's row in a transaction, with the lease for its idle-in-transaction time-out",
				Source: "articles 000 and 004: a database as lock service", Promises: promises, Needs: impls.OnePostgres, Contract: history.Contract{EndsWithConnection: true},
				OneRequest: []string{"release"},
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock { return &lock{env: env, opts: opts, way: row{}} },
		},
		{
			Card: impls.Card{
				Name: "postgres-row-fenced", Idea: "postgres-row with the next number of a sequence for a fence",
				Source: "articles 000 and 004: a database as lock service", Promises: append([]impls.Promise{impls.Fencing}, promises...), Needs: impls.OnePostgres,
				Contract: history.Contract{EndsWithConnection: true}, OneRequest: []string{"release"},
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock {
				return fenced{&lock{env: env, opts: opts, way: row{fences: true}}}
			},
		},
	}
}
