package lab

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/locklab/locklab/internal/scenarios/conform"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// Conformance is what came of the checks of a foreign client.
type Conformance struct {
	Subject play.Subject
	Results []conform.Result
}

// Broken is how many checks the client failed.
func (c Conformance) Broken() (n int) {
	for _, result := range c.Results {
		if result.Breach != nil {
			n++
		}
	}
	return n
}

// ByLock is how many checks ended at a bug of the lock.
func (c Conformance) ByLock() (n int) {
	for _, result := range c.Results {
		if result.Lock != "" {
			n++
		}
	}
	return n
}

// conformAtOnce is how many conversations are held at a time: they mostly wait.
const conformAtOnce = 6

// Conform checks whether a foreign client keeps to the protocol, by all checks or by those of the names. That says nothing about its lock.
func Conform(ctx context.Context, setting Setting, subject play.Subject, names ...string) (out Conformance, err error) {
	opened, err := setting.open(ctx, "")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	world, ok := opened.(*live.World)
	if !ok {
		return out, errors.New("only the live world runs foreign clients")
	}
	noClocks := &scenarios.Script{} // no check sets a clock from outside
	if out.Subject, err = world.Greet(ctx, subject, noClocks); err != nil {
		return out, err
	}
	checks := slices.DeleteFunc(conform.Checks(), func(c conform.Check) bool { return len(names) > 0 && !slices.Contains(names, c.Name) })
	out.Results = make([]conform.Result, len(checks))
	errs := make([]error, len(checks))
	slots := make(chan struct{}, conformAtOnce)
	var wg sync.WaitGroup
	for i, check := range checks {
		slots <- struct{}{}
		wg.Go(func() {
			out.Results[i], errs[i] = check.Run(ctx, world, out.Subject)
			<-slots
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return out, err
	}
	return out, errors.Join(errs...)
}
