package worker

import (
	"context"
	"sync/atomic"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker/protocol"
)

// sell sells one item as article 003 tells it: the stock is read from the cache, written to the database, and the cache updated.
func (t task) sell(ctx context.Context) protocol.Message {
	stock, err := counter(t.resource.Do(ctx, "GET", t.key))
	switch {
	case err != nil:
		return failed(err)
	case stock <= 0:
		return soldOut()
	}
	database := t.key + ":database"
	done, err := t.oneByOne(ctx, []string{t.key, database},
		impls.Command{"SET", database, stock - 1}, impls.Command{"SET", t.key, stock - 1})
	return wrote(stock, stock-1, done, err)
}

// sellFromMemory sells one item as the flash sale of article 000 does: the stock is in the memory of the process, and the store
// counts what was bought. The stock in memory is the bug: two instances have two.
func (t task) sellFromMemory(ctx context.Context) protocol.Message {
	stock := t.shared.of("sale "+t.key, func() any {
		left := new(atomic.Int64)
		left.Store(t.stock)
		return left
	}).(*atomic.Int64)
	left := stock.Add(-1)
	if left < 0 {
		stock.Add(1)
		return soldOut()
	}
	done, err := t.oneByOne(ctx, []string{t.key}, impls.Command{"INCR", t.key})
	if !done && err == nil {
		stock.Add(1) // the resource refused it
	}
	return wrote(left+1, left, done, err)
}

// sellFromStore is the flash sale with its stock in the store.
func (t task) sellFromStore(ctx context.Context) protocol.Message {
	key := t.key + ":stock"
	stock, err := counter(t.resource.Do(ctx, "GET", key))
	switch {
	case err != nil:
		return failed(err)
	case stock <= 0:
		return soldOut()
	}
	done, err := t.oneByOne(ctx, []string{t.key, key}, impls.Command{"SET", key, stock - 1}, impls.Command{"INCR", t.key})
	return wrote(stock, stock-1, done, err)
}
