package bench_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/bench"
)

func times() *rapid.Generator[[]time.Duration] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "time"))
	}), 1, 300)
}

func TestSpread(t *testing.T) {
	const ms = time.Millisecond
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[99-i] = time.Duration(i+1) * ms
	}
	for name, test := range map[string]struct {
		times []time.Duration
		want  bench.Spread
	}{
		"none":    {nil, bench.Spread{}},
		"one":     {[]time.Duration{ms}, bench.Spread{1, ms, ms, ms, ms, ms}},
		"two":     {[]time.Duration{3 * ms, ms}, bench.Spread{2, 2 * ms, ms, 3 * ms, 3 * ms, 3 * ms}},
		"hundred": {hundred, bench.Spread{100, 50*ms + ms/2, 50 * ms, 90 * ms, 99 * ms, 100 * ms}},
	} {
		assert.Equal(t, test.want, bench.SpreadOf(test.times), name)
	}
}

// TestSpreadProperties: percentiles are times of the sample with at most so many above them, whatever the order of the sample.
func TestSpreadProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := times().Draw(t, "times")
		s := bench.SpreadOf(sample)
		least, most := slices.Min(sample), slices.Max(sample)
		assert.Equal(t, most, s.Max)
		assert.True(t, least <= s.P50 && s.P50 <= s.P90 && s.P90 <= s.P99 && s.P99 <= s.Max)
		assert.True(t, least <= s.Mean && s.Mean <= most, "%v not from %v to %v", s.Mean, least, most)
		for percent, value := range map[int]time.Duration{50: s.P50, 90: s.P90, 99: s.P99} {
			assert.Contains(t, sample, value)
			atMost, below := 0, 0
			for _, one := range sample {
				if one <= value {
					atMost++
				}
				if one < value {
					below++
				}
			}
			assert.GreaterOrEqual(t, 100*atMost, percent*len(sample))
			assert.Less(t, 100*below, percent*len(sample))
		}
		reversed := slices.Clone(sample)
		slices.Reverse(reversed)
		assert.InDelta(t, s.Mean, bench.SpreadOf(reversed).Mean, float64(time.Microsecond))
	})
}

func TestJain(t *testing.T) {
	assert.InDelta(t, 1, bench.Jain(nil), 0)
	assert.InDelta(t, 1, bench.Jain([]float64{0, 0}), 0)
	assert.InDelta(t, 0.25, bench.Jain([]float64{0, 7, 0, 0}), 1e-12)
	assert.InDelta(t, 0.5, bench.Jain([]float64{0, 1e-200}), 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 100).Draw(t, "values")
		index := bench.Jain(values)
		assert.LessOrEqual(t, index, 1+1e-9)
		assert.GreaterOrEqual(t, index, 1/float64(len(values))-1e-9)
		scaled := make([]float64, len(values))
		for i, v := range values {
			scaled[i] = 3 * v
		}
		assert.InDelta(t, index, bench.Jain(scaled), 1e-9, "the unit does not matter")
		assert.InDelta(t, 1, bench.Jain(slices.Repeat([]float64{values[0]}, len(values))), 1e-9)
	})
}

func TestMedian(t *testing.T) {
	assert.Zero(t, bench.Median(nil))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(t, "values")
		median := bench.Median(values)
		below, above := 0, 0
		for _, v := range values {
			if v < median {
				below++
			}
			if v > median {
				above++
			}
		}
		assert.LessOrEqual(t, 2*below, len(values))
		assert.LessOrEqual(t, 2*above, len(values))
	})
}

func TestSurprises(t *testing.T) {
	lost := []bench.UpdatesCount{{Seed: 1, Acked: 10, Lost: 1}, {Seed: 2, Acked: 30}}
	assert.InDelta(t, 0.025, bench.Total(lost).Share(), 1e-12)
	for name, test := range map[string]struct {
		record bench.Record
		want   []string
	}{
		"market": {bench.Record{Market: &bench.Market{Cells: []bench.MarketCell{{Guard: bench.OneLock, Crowd: bench.Crowd{1, 5}, Listed: 5, Bought: 3, Left: 2}}}}, nil},
		"an item bought twice": {
			bench.Record{Market: &bench.Market{Cells: []bench.MarketCell{{Round: 3, Guard: bench.OneLock, Crowd: bench.Crowd{1, 5}, Listed: 5, Bought: 4, Left: 2}}}},
			[]string{"round 3, one lock, 1/5: 5 listed less 4 bought leave 1 items, but 2 are for sale"},
		},
		"lost without a guard": {bench.Record{Updates: &bench.Updates{Rows: []bench.UpdatesRow{{Lock: "a", Unguarded: lost}}}}, nil},
		"lost in spite of it": {
			bench.Record{Updates: &bench.Updates{Rows: []bench.UpdatesRow{{Lock: "a", Guarded: lost}}}},
			[]string{"a: 1 acknowledged updates are lost though the store compared fences"},
		},
		"times surprise nobody": {bench.Record{Waiting: &bench.Waiting{}}, nil},
	} {
		assert.Equal(t, test.want, test.record.Surprises(), name)
	}
}

// TestTheArticlesTable: what article 004 concludes from its own figures.
func TestTheArticlesTable(t *testing.T) {
	article := bench.ArticleMarket()
	for _, crowd := range []bench.Crowd{{5, 1}, {5, 5}} {
		ratios := bench.Ratios(bench.CellsOf(article, bench.OneLock, crowd), bench.CellsOf(article, bench.Watch, crowd), bench.MarketCell.PerListing)
		require.Len(t, ratios, 1)
		assert.Greater(t, ratios[0], 10.0)
	}
	assert.Empty(t, bench.CellsOf(article, bench.Watch, bench.Crowd{1, 5}))
}

// TestRatiosAreOfTheSameRound: a machine that is slow in one round is slow for both guards.
func TestRatiosAreOfTheSameRound(t *testing.T) {
	cells := func(bought ...int) (out []bench.MarketCell) {
		for i, n := range bought {
			out = append(out, bench.MarketCell{Round: i + 1, Bought: n})
		}
		return out
	}
	bought := func(c bench.MarketCell) float64 { return float64(c.Bought) }
	assert.Equal(t, []float64{2, 2, 2}, bench.Ratios(cells(200, 20, 2), cells(100, 10, 1), bought))
	assert.Equal(t, []float64{2}, bench.Ratios(cells(200), cells(100, 10), bought), "the second round was interrupted")
	assert.Equal(t, []float64{math.Inf(1)}, bench.Ratios(cells(5, 0), cells(0, 0), bought))
}

func TestEmpty(t *testing.T) {
	assert.True(t, (&bench.Record{}).Empty())
	for kind, record := range map[bench.Kind][2]bench.Record{
		bench.KindMarket:  {{Market: &bench.Market{}}, {Market: &bench.Market{Cells: make([]bench.MarketCell, 1)}}},
		bench.KindWaiting: {{Waiting: &bench.Waiting{}}, {Waiting: &bench.Waiting{Held: make([]bench.WaitingCell, 1)}}},
		bench.KindLocks:   {{Locks: &bench.Locks{}}, {Locks: &bench.Locks{Rows: make([]bench.LockRow, 1)}}},
		bench.KindUpdates: {{Updates: &bench.Updates{}}, {Updates: &bench.Updates{Rows: make([]bench.UpdatesRow, 1)}}},
	} {
		assert.True(t, record[0].Empty(), kind)
		assert.False(t, record[1].Empty(), kind)
	}
}
