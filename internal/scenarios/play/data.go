package play

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
)

// Data is the data of the work under one lock.
type Data struct {
	Work  history.Workload
	Stock int64  // the initial stock of a sale
	Key   string // all other keys begin with it and a colon
}

// Has says whether a key belongs to the data. The resource's fences do not.
func (d Data) Has(key string) bool {
	return key == d.Key || strings.HasPrefix(key, d.Key+":") && !strings.HasPrefix(key, d.Key+":fence")
}

// Other is the data under the second lock: a set of its own.
func (d Data) Other() Data {
	d.Key += "-other"
	return d
}

// Beginning is the initial data and the commands that write it; nil for a counter.
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
	case history.Ledger:
		data = nil
	}
	return commands, &history.Work{Workload: d.Work, Data: data}
}

// Store holds the data. Keys are full names.
type Store interface {
	// Do runs commands.
	Do(ctx context.Context, commands [][]any) error
	// Values is probe.Values.
	Values(ctx context.Context, key string) ([]string, error)
}

// Found reads the final data; see Store.Values.
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
		found.Work.Data = append(found.Work.Data, history.Datum{Name: part.name, Values: texts})
	}
	var err error
	found.Value, err = d.value(found.Work)
	return found, err
}

// part is one key of the data, and its name in histories.
type part struct{ key, name string }

func (d Data) parts() []part {
	switch d.Work {
	case history.Stock:
		return []part{{"", "cache"}, {":database", "stock"}}
	case history.FlashSale:
		return []part{{"", "bought"}}
	case history.FlashSaleStore:
		return []part{{":stock", "stock"}, {"", "bought"}}
	}
	return []part{{"", "entries"}}
}

// value is the number that sums up the data, or zero.
func (d Data) value(w *history.Work) (int64, error) {
	name := "stock"
	switch d.Work {
	case history.Ledger:
		return int64(len(w.Find("entries"))), nil
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
