package history

// Workload names the work that is done under a lock, and the data that it is done to.
type Workload string

// The workloads. Which of them there are, and what they do, is in package scenarios; the names stand in histories.
const (
	Counter        Workload = "counter"          // a counter is read and written back one higher
	Stock          Workload = "stock"            // a stock is read from a cache, and written to a database and to the cache
	Ledger         Workload = "ledger"           // an entry that names the one before it is appended
	FlashSale      Workload = "flash-sale"       // the stock is in the client's memory, the number of items sold in the store
	FlashSaleStore Workload = "flash-sale-store" // both are in the store
	Market         Workload = "market"           // items are listed and bought, for money
	MarketWatch    Workload = "market-watch"     // likewise, in transactions that are aborted if what they read has changed
	MarketItems    Workload = "market-items"     // each lock is for one item, which is listed and bought under it
)

// SoldOut is the Detail.Error of an OpWork that was answered No because there was nothing left to sell.
const SoldOut = "sold out"

// Work is a workload and the data that it is done to.
type Work struct {
	Workload Workload
	Data     []Datum
}

// Datum is what stands under one name in the store that work goes to.
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
