package history

// Workload names the work under a lock, and its data.
type Workload string

// The workloads, by their names in histories. Package internal/worker/work implements them.
const (
	Counter        Workload = "counter"          // a counter is read and written back one higher
	Stock          Workload = "stock"            // a stock is read from a cache, and written to a database and to the cache
	Ledger         Workload = "ledger"           // an entry that names the one before it is appended
	FlashSale      Workload = "flash-sale"       // the stock is in the client's memory, the number of items sold in the store
	FlashSaleStore Workload = "flash-sale-store" // both are in the store
	Market         Workload = "market"           // items are listed and bought, for money
	MarketWatch    Workload = "market-watch"     // likewise, in transactions that abort if what they read has changed
	MarketItems    Workload = "market-items"     // each lock is for one item, which is listed and bought under it
)

// SoldOut is the Detail.Error of an OpWork that was answered No because nothing was left to sell.
const SoldOut = "sold out"

// Work is a workload and its data.
type Work struct {
	Workload Workload
	Data     []Datum
}

// Datum is one named part of a workload's data.
type Datum struct {
	Name   string   // "stock", "database", "funds C1" …
	Values []string // one for a number, all in order for a list, sorted for a set
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
