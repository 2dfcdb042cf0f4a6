package impls_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/locklab/locklab/impls"
)

// The card of a lock that comes with the lab.
func ExampleFind() {
	lock, ok := impls.Find("setpx-del")
	fmt.Println(ok, lock.Idea)
	fmt.Println("bug:", lock.Bug)
	fmt.Printf("promises: %q\n", lock.Promises)
	// Output:
	// true SET NX PX acquires with a lease in one command, DEL releases
	// bug: DEL does not check the owner
	// promises: ["mutual exclusion" "freed within a lease of a crash" "does not trust clients' clocks"]
}

// All locks that are not known to be broken.
func ExampleAll() {
	var names []string
	for _, lock := range impls.All() {
		if lock.Bug == "" {
			names = append(names, lock.Name)
		}
	}
	fmt.Println(strings.Join(names[:4], ", "))
	// Output:
	// setpx-lua, watchdog, fenced, redlock
}

// A lock of your own is a card, and a function that makes one client's lock. It reaches its server through Env alone.
func ExampleSpec() {
	spec := impls.Spec{
		Card: impls.Card{
			Name:     "mylock",
			Idea:     "SET NX PX acquires; it is never released before its lease ends",
			Promises: []impls.Promise{impls.MutualExclusion, impls.CrashSafety},
			Needs:    impls.OneServer,
		},
		New: func(env impls.Env, opts impls.Options) impls.Lock { return &leased{env, opts} },
	}
	fmt.Println(spec.Name, "needs", spec.Needs)
	// Output:
	// mylock needs one Redis server
}

type leased struct {
	env  impls.Env
	opts impls.Options
}

func (l *leased) TryAcquire(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "SET", l.opts.Key, l.env.Token(), "NX", "PX", l.opts.Lease.Milliseconds())
	return reply == "OK", err
}

func (l *leased) Release(context.Context) (bool, error) { return true, nil }

// A lost reply is unknown, and never no.
func ExampleClassify() {
	fmt.Println(impls.Classify(impls.ServerError("OOM command not allowed")))
	fmt.Println(impls.Classify(errors.New("i/o timeout")))
	fmt.Println(impls.Classify(context.DeadlineExceeded))
	// Output:
	// no
	// unknown
	// unknown
}

// Promises by the words of docs/tables/protocol.md.
func ExampleParsePromises() {
	promises, err := impls.ParsePromises([]string{"release-by-owner", "crash-safe"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", promises)
	_, err = impls.ParsePromises([]string{"perfect"})
	fmt.Println(err)
	// Output:
	// ["release by owner only" "freed within a lease of a crash"]
	// unknown promise "perfect"; there are exclusion, ends-with-lease, release-by-owner, renew-by-owner, crash-safe, tells-loss, tells-in-time, ignores-clocks, fencing, fair, reentrant
}
