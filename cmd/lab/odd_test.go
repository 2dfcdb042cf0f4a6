package main

import (
	"context"
	"os"
	"strconv"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/explore"
	"github.com/locklab/locklab/impls"
)

// oddLab is lab explore for locks that nobody would keep, so that they are in no list: "impure", which is no function of what it is
// given, and "never", which nobody gets.
func oddLab() {
	explore := explore.Explore(func(name string) (impls.Spec, bool) {
		calls := 0
		odd := map[string]func(impls.Env) impls.Lock{
			"impure": func(env impls.Env) impls.Lock { return &impureLock{env: env, calls: &calls} },
			"never":  func(impls.Env) impls.Lock { return neverLock{} },
		}
		open, known := odd[name]
		return impls.Spec{
			Card: impls.Card{Name: name, Needs: impls.OneServer, EqualTokens: true},
			New:  func(env impls.Env, _ impls.Options) impls.Lock { return open(env) },
		}, known
	})
	explore.SilenceUsage, explore.SilenceErrors = true, true
	os.Exit(cli.Execute(context.Background(), explore, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// impureLock counts the calls of all clients.
type impureLock struct {
	env   impls.Env
	calls *int
}

func (l *impureLock) TryAcquire(ctx context.Context) (bool, error) {
	*l.calls++
	reply, err := l.env.Server().Do(ctx, "SET", "k", strconv.Itoa(*l.calls), "NX", "PX", 1200)
	return reply == "OK", err
}

func (l *impureLock) Release(ctx context.Context) (bool, error) {
	_, err := l.env.Server().Do(ctx, "DEL", "k")
	return err == nil, err
}

type neverLock struct{}

func (neverLock) TryAcquire(context.Context) (bool, error) { return false, nil }
func (neverLock) Release(context.Context) (bool, error)    { return false, nil }
func (neverLock) State() any                               { return nil }
