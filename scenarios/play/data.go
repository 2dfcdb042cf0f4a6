package play

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// The market as the lab lays it out: a shop has listed the items, and everybody has some money.
const (
	marketItems = 20
	marketPrice = 10
	marketFunds = 100
)

// Data is what the work under one lock is done to: what lies there before any client is, and what is found in the end.
type Data struct {
	Work    history.Workload
	Stock   int64  // with which a sale begins, or everybody's purse
	Item    string // which the lock is for, where each has its own
	Key     string // all other keys begin with it and a colon
	Clients []string
}

// Has says whether a key belongs to the data. The fences that the resource keeps do not.
func (d Data) Has(key string) bool {
	return key == d.Key || strings.HasPrefix(key, d.Key+":") && !strings.HasPrefix(key, d.Key+":fence")
}

// Other is what the work under locks on the other key is done to: data of its own, or another item of the same market.
func (d Data) Other() Data {
	if d.Work == history.MarketItems {
		d.Item = ItemName(1)
		return d
	}
	d.Key += "-other"
	return d
}

// Beginning is how the data is laid out, and what it is then; nil for a counter.
func (d Data) Beginning() (commands [][]any, work *history.Work) {
	set := func(name string, value any) { commands = append(commands, []any{"SET", d.Key + name, value}) }
	data := []history.Datum{{Name: "stock", Values: []string{strconv.FormatInt(d.Stock, 10)}}}
	switch d.Work {
	case history.Counter:
		return nil, nil
	case history.Stock:
		set("", d.Stock)
		set(":database", d.Stock)
	case history.FlashSaleStore:
		set(":stock", d.Stock)
	case history.Market, history.MarketWatch, history.MarketItems:
		data = d.market()
		for n := range marketItems {
			commands = append(commands, []any{"HSET", d.Key, ItemName(n), fmt.Sprint(scenarios.Shop, " ", marketPrice)})
		}
		for _, name := range d.Clients {
			set(":funds:"+name, d.funds())
		}
	case history.Ledger:
		data = nil
	}
	return commands, &history.Work{Workload: d.Work, Data: data}
}

// ItemName is the name of an item of the market, from 0.
func ItemName(n int) string { return fmt.Sprintf("item-%d", n+1) }

// funds is what everybody has in the beginning.
func (d Data) funds() int64 {
	if d.Work == history.MarketItems {
		return d.Stock
	}
	return marketFunds
}

// market is the market in the beginning.
func (d Data) market() []history.Datum {
	var listed []string
	for n := range marketItems {
		listed = append(listed, fmt.Sprint(ItemName(n), " ", scenarios.Shop, " ", marketPrice))
	}
	data := []history.Datum{{Name: "market", Values: listed}}
	for _, name := range d.Clients {
		data = append(data, history.Datum{Name: "money of " + name, Values: []string{strconv.FormatInt(d.funds(), 10)}})
	}
	return data
}

// Store is where the data lies. Names of keys are whole.
type Store interface {
	// Do carries commands out.
	Do(ctx context.Context, commands [][]any) error
	// Values reads what stands under a key: the number or text, the elements of a list, those of a set sorted, or the fields of a hash,
	// sorted, each followed by its value; nothing where there is no key.
	Values(ctx context.Context, key string) ([]string, error)
}

// Found is what the data has come to; see Store.Values.
func (d Data) Found(values func(key string) ([]string, error)) (*history.Detail, error) {
	if d.Work == history.Counter {
		texts, err := values(d.Key)
		if err != nil || len(texts) == 0 {
			return &history.Detail{}, err
		}
		n, err := number(d.Key, texts)
		return &history.Detail{Value: n}, err
	}
	found := &history.Detail{Work: &history.Work{Workload: d.Work}}
	for _, part := range d.parts() {
		texts, err := values(d.Key + part.key)
		if err != nil {
			return nil, err
		}
		if part.name == "market" {
			texts = pairs(texts)
		}
		found.Work.Data = append(found.Work.Data, history.Datum{Name: part.name, Values: texts})
	}
	var err error
	found.Value, err = d.value(found.Work)
	return found, err
}

// part is one key of the data, and what it is called.
type part struct{ key, name string }

func (d Data) parts() []part {
	switch d.Work {
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
	for _, name := range append(slices.Clone(d.Clients), scenarios.Shop) {
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
func (d Data) value(w *history.Work) (int64, error) {
	name := "stock"
	switch d.Work {
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
	return number(name, values)
}

func number(name string, values []string) (int64, error) {
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number: %w", name, err)
	}
	return n, nil
}
