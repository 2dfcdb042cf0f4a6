package bench

import (
	"fmt"
	"slices"
	"time"
)

// Market has the figures of article 004's market (W3): sellers list items, buyers buy one each.
type Market struct {
	For     time.Duration `json:"for_ns"` // of each cell
	Rounds  int           `json:"rounds"` // each has a cell of each guard with each crowd
	Lock    string        `json:"lock"`
	Wait    string        `json:"wait"` // how clients wait for the lock
	Cells   []MarketCell  `json:"cells"`
	Article []MarketCell  `json:"article"` // each in 60 s
	Absent  []Absent      `json:"absent,omitempty"`
}

// Guard is what keeps a purchase whole.
type Guard string

// The guards, in the article's order.
const (
	Watch   Guard = "WATCH"
	OneLock Guard = "one lock"
	PerItem Guard = "lock per item"
)

// Guards lists them.
func Guards() []Guard { return []Guard{Watch, OneLock, PerItem} }

// Crowd is how many clients sell and how many buy.
type Crowd struct {
	Sellers int `json:"sellers"`
	Buyers  int `json:"buyers"`
}

func (c Crowd) String() string { return fmt.Sprintf("%d/%d", c.Sellers, c.Buyers) }

// Crowds are the article's and, with one seller to five buyers, one more.
func Crowds() []Crowd { return []Crowd{{1, 1}, {5, 1}, {1, 5}, {5, 5}} }

// MarketCell is one guard with one crowd, in one round.
type MarketCell struct {
	Round  int           `json:"round,omitempty"` // from 1; the article's cells have none
	Guard  Guard         `json:"guard"`
	Crowd  Crowd         `json:"crowd"`
	Listed int           `json:"listed"`
	Bought int           `json:"bought"`
	Tried  int           `json:"retries"`      // purchases that began again: an aborted transaction, or the item was gone
	Wait   time.Duration `json:"mean_wait_ns"` // of a purchase, from its first try
	Failed int           `json:"failed"`       // purchases and listings that were given up
	// Left is how many items were for sale at the end by the store's account.
	Left int `json:"left"`
	// Below: the article gives an upper bound of what was bought; Retries of it may be bounds, too.
	Below bool `json:"below,omitempty"`
}

// PerListing is how many items were bought per listed one.
func (c MarketCell) PerListing() float64 { return Ratio(float64(c.Bought), float64(c.Listed)) }

// PerPurchase is how often a purchase began again.
func (c MarketCell) PerPurchase() float64 { return Ratio(float64(c.Tried), float64(c.Bought)) }

// ArticleMarket is the table of article 004, which quotes it from a book.
func ArticleMarket() []MarketCell {
	return []MarketCell{
		{Guard: Watch, Crowd: Crowd{1, 1}, Listed: 145_000, Bought: 27_000, Tried: 8_000, Wait: 14 * time.Millisecond},
		{Guard: Watch, Crowd: Crowd{5, 1}, Listed: 331_000, Bought: 200, Tried: 5_000, Wait: 150 * time.Millisecond, Below: true},
		{Guard: Watch, Crowd: Crowd{5, 5}, Listed: 206_000, Bought: 600, Tried: 161_000, Wait: 498 * time.Millisecond, Below: true},
		{Guard: OneLock, Crowd: Crowd{1, 1}, Listed: 51_000, Bought: 50_000, Tried: 0, Wait: time.Millisecond},
		{Guard: OneLock, Crowd: Crowd{5, 1}, Listed: 68_000, Bought: 13_000, Tried: 10, Wait: 5 * time.Millisecond},
		{Guard: OneLock, Crowd: Crowd{5, 5}, Listed: 21_000, Bought: 20_500, Tried: 0, Wait: 14 * time.Millisecond},
	}
}

// CellsOf are the cells of a guard and a crowd, one for each round.
func CellsOf(cells []MarketCell, guard Guard, crowd Crowd) []MarketCell {
	var out []MarketCell
	for _, c := range cells {
		if c.Guard == guard && c.Crowd == crowd {
			out = append(out, c)
		}
	}
	return out
}

// Figures are one figure of each cell.
func Figures(cells []MarketCell, of func(MarketCell) float64) []float64 {
	out := make([]float64, len(cells))
	for i, c := range cells {
		out[i] = of(c)
	}
	return out
}

// Ratios compare a figure of two guards in each round that has both. A round in which only b is zero is infinite; one in which both are zero
// compares nothing.
func Ratios(a, b []MarketCell, of func(MarketCell) float64) []float64 {
	var out []float64
	for _, x := range a {
		at := slices.IndexFunc(b, func(y MarketCell) bool { return y.Round == x.Round })
		if at < 0 || of(x) == 0 && of(b[at]) == 0 {
			continue
		}
		out = append(out, of(x)/of(b[at]))
	}
	return out
}

// surprises: an item is for sale, or bought once.
func (m *Market) surprises() []string {
	var out []string
	for _, c := range m.Cells {
		if c.Listed-c.Bought != c.Left {
			out = append(out, fmt.Sprintf("round %d, %s, %v: %d listed less %d bought leave %d items, but %d are for sale",
				c.Round, c.Guard, c.Crowd, c.Listed, c.Bought, c.Listed-c.Bought, c.Left))
		}
	}
	return out
}
