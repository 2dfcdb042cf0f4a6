package measure

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/worker"
)

// trade is what came of one try.
type trade int

const (
	traded  trade = iota
	again         // the transaction was aborted, or the item is gone
	refused       // no lock
)

// guarded prepares a transaction and runs it, with the guard around both. No commands mean that there is nothing to do.
func (t *trader) guarded(ctx context.Context, item string, watched []string, prepare func(context.Context, reader) ([]impls.Command, error)) (trade, error) {
	if t.guard == bench.Watch {
		return t.run(ctx, watched, prepare)
	}
	lock, done, err := t.lockFor(item)
	if err != nil {
		return refused, err
	}
	defer done()
	way, err := wayOf(t.wait, lock.Lock, 0)
	if err != nil {
		return refused, err
	}
	held, err := lock.Acquire(ctx, marketPatience, way)
	if err != nil || !held {
		return refused, err
	}
	came, err := t.run(ctx, nil, prepare)
	if err != nil {
		return came, err
	}
	released, err := lock.Release(ctx)
	if err == nil && !released {
		err = fmt.Errorf("%s was lost while it was held", t.spec.Name)
	}
	return came, err
}

// run runs what is prepared as a transaction, which is aborted if a watched key has changed since.
func (t *trader) run(ctx context.Context, watched []string, prepare func(context.Context, reader) ([]impls.Command, error)) (came trade, _ error) {
	came = again
	err := t.store.Watch(ctx, watched, func(tx impls.Tx) error {
		commands, err := prepare(ctx, tx.Do)
		if err != nil || commands == nil {
			return err
		}
		if _, done, err := tx.Exec(ctx, commands...); err != nil || !done {
			return err
		}
		came = traded
		return nil
	})
	return came, err
}

// lockFor is the lock for an item; done closes it.
func (t *trader) lockFor(item string) (_ *worker.Lock, done func(), err error) {
	if t.guard == bench.PerItem {
		lock, err := t.client.Open(t.spec, impls.Options{Key: t.lockKey(item), Lease: lease}, worker.Wrap{})
		if err != nil {
			return nil, nil, err
		}
		return lock, lock.Close, nil
	}
	if t.one == nil {
		t.one, err = t.client.Open(t.spec, impls.Options{Key: t.lockKey("market"), Lease: lease}, worker.Wrap{})
	}
	return t.one, func() {}, err
}

// close closes the lock of the whole market.
func (t *trader) close() {
	if t.one != nil {
		t.one.Close()
	}
}

// sellerOf is the seller of an item, which its name ends with.
func sellerOf(item string) string {
	_, seller, _ := strings.Cut(item, ".")
	return seller
}

// integer reads a reply that is a number, or text that says one; an absent one is zero.
func integer(reply any, err error) (int64, error) {
	if err != nil || reply == nil {
		return 0, err
	}
	n, err := strconv.ParseInt(fmt.Sprint(reply), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the server answered %.40q where a number should be", fmt.Sprint(reply))
	}
	return n, nil
}
