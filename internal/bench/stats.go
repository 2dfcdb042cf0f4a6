package bench

import (
	"math"
	"slices"
	"time"
)

// Spread summarises how long something took.
type Spread struct {
	N    int           `json:"n"`
	Mean time.Duration `json:"mean_ns"`
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	Max  time.Duration `json:"max_ns"`
}

// SpreadOf summarises times, in any order; they stay as they are. Percentiles are by the nearest rank: each is one of the times.
func SpreadOf(times []time.Duration) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(times))
	mean := 0.0
	for _, t := range sorted {
		mean += float64(t) / float64(len(sorted))
	}
	return Spread{
		N: len(sorted), Mean: time.Duration(math.Round(mean)),
		P50: rank(sorted, 50), P90: rank(sorted, 90), P99: rank(sorted, 99), Max: sorted[len(sorted)-1],
	}
}

// rank is a percentile of sorted times.
func rank(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// Jain is Jain's fairness index: 1 if all have the same, 1/n if one of n has everything. No values, or none above zero, are fair.
func Jain(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	if most == 0 {
		return 1
	}
	sum, squares := 0.0, 0.0
	for _, v := range values {
		share := v / most // the square of a tiny number is zero
		sum += share
		squares += share * share
	}
	return sum * sum / (float64(len(values)) * squares)
}

// JainOf is Jain's index of times.
func JainOf(times []time.Duration) float64 {
	seconds := make([]float64, len(times))
	for i, t := range times {
		seconds[i] = t.Seconds()
	}
	return Jain(seconds)
}

// Median is the middle value, or the mean of the middle two; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Ratio is a/b; 0 if b is.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
