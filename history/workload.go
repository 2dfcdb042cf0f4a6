package history

import (
	"fmt"
	"strconv"
)

// Workload names the work under a lock, and its data.
type Workload string

// The workloads, by their names in histories. Package internal/worker/work implements them.
const (
	Counter        Workload = "counter"          // a counter is read and written back one higher
	Stock          Workload = "stock"            // a stock is read from a cache, and written to a database and to the cache
	Ledger         Workload = "ledger"           // an entry that names the one before it is appended
	FlashSale      Workload = "flash-sale"       // the stock is in the client's memory, the number of items sold in the store
	FlashSaleStore Workload = "flash-sale-store" // both are in the store
)

// Sells says whether the work sells what a stock has.
func (w Workload) Sells() bool { return w == Stock || w == FlashSale || w == FlashSaleStore }

// SoldOut is the Detail.Error of an OpWork that was answered No because nothing was left to sell.
const SoldOut = "sold out"

// Work is a workload and its data.
type Work struct {
	Workload Workload
	Data     []Datum
}

// Datum is one named part of a workload's data.
type Datum struct {
	Name   string   // "stock", "cache", "entries" …
	Values []string // one for a number, all in order for a list
}

// Stock is how much there was to sell at the beginning; zero where nothing is sold.
func (w *Work) Stock() (int64, error) {
	if !w.Workload.Sells() {
		return 0, nil
	}
	values := w.Find("stock")
	if len(values) != 1 {
		return 0, fmt.Errorf("the work %q needs one number of the name \"stock\"", w.Workload)
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the stock is %q, which is no number", values[0])
	}
	return n, nil
}

// check says why a judge could not read the work's data.
func (w *Work) check() error {
	if w == nil {
		return nil
	}
	if w.Workload != Counter && w.Workload != Ledger && !w.Workload.Sells() {
		return fmt.Errorf("no workload is called %q", w.Workload)
	}
	_, err := w.Stock()
	return err
}

// Find returns the values under a name, nil if there are none.
func (w *Work) Find(name string) []string {
	if w == nil {
		return nil
	}
	for _, d := range w.Data {
		if d.Name == name {
			return d.Values
		}
	}
	return nil
}
