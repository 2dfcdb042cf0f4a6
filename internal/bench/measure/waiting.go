package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/worker"
	"github.com/locklab/locklab/internal/worker/work"
)

// WaitingPlan says how to measure ways to wait.
type WaitingPlan struct {
	Sale     []bench.Strategy // of the flash sale
	Held     []bench.Strategy // of the lock that is held for a time
	Requests int              // of the flash sale
	AtOnce   int              // of them
	Within   time.Duration    // a request that has no lock by then has failed
	Waiters  int              // of the held lock
	Holds    []time.Duration
	For      time.Duration // of each way under each hold
	Absent   []bench.Absent
}

// stock is that of article 000, which 2,000 requests never use up.
const stock = 100_000

// Waiting measures each way to wait. record gets the cells as they end.
func (p *Place) Waiting(ctx context.Context, plan WaitingPlan, record *bench.Waiting) error {
	*record = bench.Waiting{
		Requests: plan.Requests, AtOnce: plan.AtOnce, Within: plan.Within, Waiters: plan.Waiters, For: plan.For,
		Absent: plan.Absent,
	}
	var steps []step
	for _, stock := range bench.Stocks() {
		for _, s := range plan.Sale {
			what := fmt.Sprintf("flash sale, stock in %s, %s with %s", stock, s.Way, s.Lock)
			steps = append(steps, step{what, guess(plan, s.Way), func(ctx context.Context) error {
				cell, err := p.sale(ctx, plan, s, stock)
				if err == nil {
					record.Sale = append(record.Sale, cell)
				}
				return err
			}})
		}
	}
	for _, hold := range plan.Holds {
		for _, s := range plan.Held {
			steps = append(steps, step{fmt.Sprintf("held for %v, %s with %s", hold, s.Way, s.Lock), plan.For, func(ctx context.Context) error {
				cell, err := p.held(ctx, plan, s, hold)
				if err == nil {
					record.Held = append(record.Held, cell)
				}
				return err
			}})
		}
	}
	return p.carryOut(ctx, steps)
}

// guess is about how long a flash sale takes: nobody knows beforehand, but who sleeps for longer, and who floods the server, takes longer.
func guess(plan WaitingPlan, way string) time.Duration {
	each := time.Millisecond
	switch way {
	case "sleep:2s", "spin-yield:600ms", "yield":
		each = 10 * time.Millisecond
	}
	return min(time.Duration(plan.Requests)*each, plan.Within)
}

// shoppers are clients that use one lock.
type shoppers struct {
	clients []*worker.Client
	stores  []*worker.Client // connected to the data; nil: clients are
	locks   []*worker.Lock
	counter counter
}

// gather connects n clients and opens a lock for each.
func (p *Place) gather(ctx context.Context, n int, name, what string) (_ *shoppers, err error) {
	spec, err := find(name)
	if err != nil {
		return nil, err
	}
	site, err := p.siteOf(ctx, spec, what)
	if err != nil {
		return nil, err
	}
	s := &shoppers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.clients, err = dial(ctx, n, site.addrs); err != nil {
		return nil, err
	}
	for _, client := range s.clients {
		lock, err := client.Open(spec, impls.Options{Key: site.key, Lease: lease}, s.counter.wrap())
		if err != nil {
			return nil, err
		}
		s.locks = append(s.locks, lock)
	}
	if spec.Needs == impls.OneZooKeeper {
		if s.stores, err = p.dialStore(ctx, n); err != nil {
			return nil, err
		}
	}
	return s, s.warmUp(ctx)
}

// dialStore connects n clients to the data.
func (p *Place) dialStore(ctx context.Context, n int) ([]*worker.Client, error) {
	addrs, err := p.addrs(ctx, 1)
	if err != nil {
		return nil, err
	}
	return dial(ctx, n, addrs)
}

// warmUp has the server learn the lock's scripts, so that none is sent twice later.
func (s *shoppers) warmUp(ctx context.Context) error {
	lock := s.locks[0]
	way, err := wayOf("", lock.Lock, 0)
	if err != nil {
		return err
	}
	held, err := lock.Acquire(ctx, marketPatience, way)
	if err == nil && held {
		_, err = lock.Release(ctx)
	}
	s.counter.sent.Store(0)
	return err
}

func (s *shoppers) close() error {
	for _, lock := range s.locks {
		lock.Close()
	}
	return errors.Join(hangUp(s.clients), hangUp(s.stores))
}

// store is where the data are, through connections of client i.
func (s *shoppers) store(i int) impls.Server {
	if s.stores != nil {
		return s.stores[i].Server()
	}
	return s.clients[i].Server()
}

// sale is article 000's flash sale: requests that each take the lock of the whole sale, sell one item and release the lock.
func (p *Place) sale(ctx context.Context, plan WaitingPlan, s bench.Strategy, where bench.Stock) (_ bench.WaitingCell, err error) {
	key := p.newKey("stock")
	all, err := p.gather(ctx, min(plan.AtOnce, plan.Requests), s.Lock, "sale")
	if err != nil {
		return bench.WaitingCell{}, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	store := all.store(0)
	if _, err := store.Do(ctx, "SET", key+":stock", stock); err != nil {
		return bench.WaitingCell{}, err
	}
	workload := history.FlashSale
	if where == bench.InStore {
		workload = history.FlashSaleStore
	}
	memory := memoryOf()
	var requests, sold atomic.Int64
	times := make([][]time.Duration, len(all.locks))
	failed := make([]int, len(all.locks))
	began := time.Now()
	errs := together(len(all.locks), func(i int) error {
		way, err := wayOf(s.Way, all.locks[i].Lock, i)
		if err != nil {
			return err
		}
		task := work.Task{Resource: all.store(i), Shared: memory, Key: key, Stock: stock}
		for requests.Add(1) <= int64(plan.Requests) {
			asked := time.Now()
			held, err := all.locks[i].Acquire(ctx, plan.Within, way)
			if err == nil && held {
				if task.Do(ctx, workload).Outcome == history.OK {
					sold.Add(1)
				}
				held, err = all.locks[i].Release(ctx)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			times[i] = append(times[i], time.Since(asked))
			if err != nil || !held {
				failed[i]++
			}
		}
		return nil
	})
	took := time.Since(began)
	cell := summed(times, failed, all.counter.sent.Load())
	cell.Way, cell.Lock, cell.Stock, cell.Took, cell.Sold = s.Way, s.Lock, where, took, int(sold.Load())
	return cell, errors.Join(errs...)
}

// memoryOf is the memory that the requests of one process share.
func memoryOf() func(key string, make func() any) any {
	var mu sync.Mutex
	values := map[string]any{}
	return func(key string, make func() any) any {
		mu.Lock()
		defer mu.Unlock()
		if _, found := values[key]; !found {
			values[key] = make()
		}
		return values[key]
	}
}

// summed makes the figures of all clients those of a cell.
func summed(times [][]time.Duration, failed []int, commands int64) bench.WaitingCell {
	cell := bench.WaitingCell{Commands: commands}
	var all []time.Duration
	for i := range times {
		all = append(all, times[i]...)
		cell.Failed += failed[i]
	}
	cell.Time, cell.Fairness = bench.SpreadOf(all), bench.JainOf(all)
	cell.Granted = len(all) - cell.Failed
	return cell
}

// held has clients take the lock in turn and hold it for a time. A wait that has begun is waited to its end, so that none is cut short.
func (p *Place) held(ctx context.Context, plan WaitingPlan, s bench.Strategy, hold time.Duration) (_ bench.WaitingCell, err error) {
	all, err := p.gather(ctx, plan.Waiters, s.Lock, "held")
	if err != nil {
		return bench.WaitingCell{}, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	times := make([][]time.Duration, len(all.locks))
	failed := make([]int, len(all.locks))
	began := time.Now()
	over := began.Add(plan.For)
	errs := together(len(all.locks), func(i int) error {
		way, err := wayOf(s.Way, all.locks[i].Lock, i)
		if err != nil {
			return err
		}
		for time.Now().Before(over) {
			asked := time.Now()
			held, err := all.locks[i].Acquire(ctx, plan.Within, way)
			times[i] = append(times[i], time.Since(asked))
			if err == nil && held {
				time.Sleep(hold)
				held, err = all.locks[i].Release(ctx)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || !held {
				failed[i]++
			}
		}
		return nil
	})
	took := time.Since(began)
	cell := summed(times, failed, all.counter.sent.Load())
	cell.Way, cell.Lock, cell.Hold, cell.Took = s.Way, s.Lock, hold, took
	return cell, errors.Join(errs...)
}
