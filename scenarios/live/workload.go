package live

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/worker/protocol"
)

// The market as the lab lays it out: a shop has listed the items, and everybody has some money.
const (
	marketItems = 20
	marketPrice = 10
	marketFunds = 100
)

// store is the data that the work under one lock is done to: where it lies, and how the lab lays it out and reads it.
type store struct {
	work    history.Workload
	stock   int64  // with which a sale begins, or everybody's purse
	item    string // which the lock is for, where each has its own
	addr    string
	key     string // all other keys begin with it and a colon
	clients []string
}

// has says whether a key belongs to the data. The fences that the resource keeps do not.
func (s store) has(key string) bool {
	return key == s.key || strings.HasPrefix(key, s.key+":") && !strings.HasPrefix(key, s.key+":fence")
}

// order completes a request to work.
func (s store) order(req *protocol.Request) {
	req.Key = s.key
	if s.work != history.Counter {
		req.Workload = string(s.work)
	}
	switch s.work {
	case history.FlashSale:
		req.Stock = s.stock
	case history.MarketItems:
		req.Item = s.item
	}
}

// other is what the work under locks on the other key is done to: data of its own, or another item of the same market.
func (s store) other() store {
	if s.work == history.MarketItems {
		s.item = itemName(1)
		return s
	}
	s.key += "-other"
	return s
}

// lay puts the data there before any client is, and says what it is; nil for a counter.
func (s store) lay(ctx context.Context) (*history.Work, error) {
	var commands [][]any
	set := func(name string, value any) { commands = append(commands, []any{"SET", s.key + name, value}) }
	data := []history.Datum{{Name: "stock", Values: []string{strconv.FormatInt(s.stock, 10)}}}
	switch s.work {
	case history.Counter:
		return nil, nil
	case history.Stock:
		set("", s.stock)
		set(":database", s.stock)
	case history.FlashSaleStore:
		set(":stock", s.stock)
	case history.Market, history.MarketWatch, history.MarketItems:
		data = s.marketData()
		for n := range marketItems {
			commands = append(commands, []any{"HSET", s.key, itemName(n), fmt.Sprint(scenarios.Shop, " ", marketPrice)})
		}
		for _, name := range s.clients {
			set(":funds:"+name, s.funds())
		}
	case history.Ledger:
		data = nil
	}
	work := &history.Work{Workload: s.work, Data: data}
	if len(commands) == 0 {
		return work, nil
	}
	return work, server.Lay(ctx, s.addr, commands)
}

// funds is what everybody has in the beginning.
func (s store) funds() int64 {
	if s.work == history.MarketItems {
		return s.stock
	}
	return marketFunds
}

func itemName(n int) string { return fmt.Sprintf("item-%d", n+1) }

// marketData is the market in the beginning.
func (s store) marketData() []history.Datum {
	var listed []string
	for n := range marketItems {
		listed = append(listed, fmt.Sprint(itemName(n), " ", scenarios.Shop, " ", marketPrice))
	}
	data := []history.Datum{{Name: "market", Values: listed}}
	for _, name := range s.clients {
		data = append(data, history.Datum{Name: "money of " + name, Values: []string{strconv.FormatInt(s.funds(), 10)}})
	}
	return data
}

// read is what the data has come to.
func (s store) read(ctx context.Context) (*history.Detail, error) {
	if s.work == history.Counter {
		value, err := server.Counter(ctx, s.addr, s.key)
		return &history.Detail{Value: value}, err
	}
	d := &history.Detail{Work: &history.Work{Workload: s.work}}
	for _, part := range s.parts() {
		values, err := server.Values(ctx, s.addr, s.key+part.key)
		if err != nil {
			return nil, err
		}
		if part.name == "market" {
			values = pairs(values)
		}
		d.Work.Data = append(d.Work.Data, history.Datum{Name: part.name, Values: values})
	}
	var err error
	d.Value, err = s.value(d.Work)
	return d, err
}

// part is one key of the data, and what it is called.
type part struct{ key, name string }

func (s store) parts() []part {
	switch s.work {
	case history.Stock:
		return []part{{"", "cache"}, {":database", "stock"}}
	case history.FlashSale:
		return []part{{"", "bought"}}
	case history.FlashSaleStore:
		return []part{{":stock", "stock"}, {"", "bought"}}
	case history.Ledger:
		return []part{{"", "entries"}}
	}
	parts := []part{{"", "market"}}
	for _, name := range append(slices.Clone(s.clients), scenarios.Shop) {
		parts = append(parts, part{":funds:" + name, "money of " + name}, part{":items:" + name, "items of " + name})
	}
	return parts
}

// pairs joins the fields of a hash to their values.
func pairs(values []string) (joined []string) {
	for pair := range slices.Chunk(values, 2) {
		joined = append(joined, strings.Join(pair, " "))
	}
	return joined
}

// value is the number that the data comes down to; zero if it is none.
func (s store) value(w *history.Work) (int64, error) {
	name := "stock"
	switch s.work {
	case history.Ledger:
		return int64(len(w.Find("entries"))), nil
	case history.Market, history.MarketWatch, history.MarketItems:
		return 0, nil
	case history.FlashSale:
		name = "bought"
	}
	values := w.Find(name)
	if len(values) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number: %w", name, err)
	}
	return n, nil
}
