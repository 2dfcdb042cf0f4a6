package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Together the parts are exactly the whole, and none costs more than the one with the least, but for a single item.
func TestPlacesOfShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		costs := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 100), func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }), 0, 60).Draw(t, "costs")
		of := rapid.IntRange(1, 9).Draw(t, "of")
		taken := make([]int, len(costs))
		loads := make([]time.Duration, of)
		for index := 1; index <= of; index++ {
			last := -1
			for _, place := range (Shard{index, of}).places(costs) {
				assert.Greater(t, place, last, "in their order")
				last = place
				taken[place]++
				loads[index-1] += costs[place]
			}
		}
		for place, times := range taken {
			assert.Equal(t, 1, times, "item %d", place)
		}
		least, most, greatest := loads[0], loads[0], time.Duration(0)
		for _, load := range loads {
			least, most = min(least, load), max(most, load)
		}
		for _, cost := range costs {
			greatest = max(greatest, cost)
		}
		assert.LessOrEqual(t, most-least, greatest)
	})
}

func TestEqualItemsAreSpreadEvenly(t *testing.T) {
	for _, cost := range []time.Duration{0, time.Second} {
		costs := []time.Duration{cost, cost, cost, cost, cost, cost, cost}
		assert.Equal(t, []int{0, 3, 6}, Shard{1, 3}.places(costs))
		assert.Equal(t, []int{1, 4}, Shard{2, 3}.places(costs))
		assert.Equal(t, []int{2, 5}, Shard{3, 3}.places(costs))
	}
	assert.Empty(t, Shard{3, 3}.places(make([]time.Duration, 2)))
	assert.Equal(t, []int{0, 1}, Shard{}.places(make([]time.Duration, 2)), "no shard is the whole")
}

func TestParseShard(t *testing.T) {
	shard, err := ParseShard("2/4")
	require.NoError(t, err)
	assert.Equal(t, Shard{2, 4}, shard)
	assert.Equal(t, "2/4", shard.String())
	for _, text := range []string{"", "half", "0/2", "3/2", "-1/2", "1/2x", "1", "1/"} {
		_, err := ParseShard(text)
		assert.ErrorContains(t, err, "i/n with i from 1 to n", text)
	}
}
