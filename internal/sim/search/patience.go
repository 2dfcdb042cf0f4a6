package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/locklab/locklab/internal/sim/world"
)

var errNoEnd = errors.New("it does not come back: it waits for what is not its Env's, or never stops asking")

// How long one run of a lock's code may take in real time. A lock only computes. It is counted in looks: a host that stands still for as long,
// and the lock with it, is looked at once.
const (
	lookEvery = 500 * time.Millisecond
	mostLooks = 10
)

// patiently goes through a space, and gives up when one run of the lock's code takes too long. The space is in use then, and stays so. It watches
// from outside: to watch each run by itself takes longer than the run.
func patiently(ctx context.Context, space *world.Space, all func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // so that it ends if the lock comes back after all
	result := make(chan error, 1)
	go func() { result <- all(ctx) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var last int64
	for looks := 0; ; {
		select {
		case err := <-result:
			return err
		case <-look.C:
			if run := space.Running(); run == 0 || run != last {
				last, looks = run, 0
			} else if looks++; looks >= mostLooks {
				return fmt.Errorf("%s cannot be explored: %w", space.Lock.Name, errNoEnd)
			}
		}
	}
}
