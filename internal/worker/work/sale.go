package work

import (
	"context"
	"sync/atomic"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// sell sells one item as in article 003: it reads the stock from the cache, writes it to the database, and updates the cache.
func (t Task) sell(ctx context.Context) history.Answer {
	stock, err := counter(t.Resource.Do(ctx, "GET", t.Key))
	switch {
	case err != nil:
		return answers.Settled(false, err)
	case stock <= 0:
		return soldOut()
	}
	database := t.Key + ":database"
	done, err := t.oneByOne(ctx, []string{t.Key, database},
		impls.Command{"SET", database, stock - 1}, impls.Command{"SET", t.Key, stock - 1})
	return wrote(stock, stock-1, done, err)
}

// sellFromMemory sells one item as the flash sale of article 000: the stock is in the memory of the process, and the store counts the items
// bought. The stock in memory is the bug: two instances have two stocks.
func (t Task) sellFromMemory(ctx context.Context) history.Answer {
	stock := t.Shared("sale "+t.Key, func() any {
		left := new(atomic.Int64)
		left.Store(t.Stock)
		return left
	}).(*atomic.Int64)
	left := stock.Add(-1)
	if left < 0 {
		stock.Add(1)
		return soldOut()
	}
	done, err := t.oneByOne(ctx, []string{t.Key}, impls.Command{"INCR", t.Key})
	if !done && err == nil {
		stock.Add(1) // the resource refused it
	}
	return wrote(left+1, left, done, err)
}

// sellFromStore is the flash sale with its stock in the store.
func (t Task) sellFromStore(ctx context.Context) history.Answer {
	key := t.Key + ":stock"
	stock, err := counter(t.Resource.Do(ctx, "GET", key))
	switch {
	case err != nil:
		return answers.Settled(false, err)
	case stock <= 0:
		return soldOut()
	}
	done, err := t.oneByOne(ctx, []string{t.Key, key}, impls.Command{"SET", key, stock - 1}, impls.Command{"INCR", t.Key})
	return wrote(stock, stock-1, done, err)
}
