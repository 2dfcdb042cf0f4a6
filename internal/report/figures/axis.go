package figures

import "math"

// axis is that of a plot.
type axis struct {
	least, most float64 // of the values that are drawn; a logarithmic one begins and ends at a power of ten
	log         bool
}

func axisOf(p plot) axis {
	a := axis{log: p.Log}
	for _, b := range p.Bars {
		for _, v := range b.Values {
			if v > 0 && (a.least == 0 || v < a.least) {
				a.least = v
			}
			a.most = max(a.most, v)
		}
	}
	if !p.Log || a.most == 0 {
		a.least = 0
		return a
	}
	const longest = 1e12 // an axis of more powers of ten tells nothing
	a.least = math.Pow(10, math.Floor(math.Log10(max(a.least, a.most/longest))))
	a.most = math.Pow(10, math.Ceil(math.Log10(a.most)))
	if a.most <= a.least {
		a.most = 10 * a.least
	}
	return a
}

// at is how far a value is along a room of so many steps.
func (a axis) at(v float64, room int) int {
	return int(math.Round(a.part(v) * float64(room)))
}

// part is how far a value is along the axis, from 0 to 1.
func (a axis) part(v float64) float64 {
	switch {
	case v <= 0 || a.most == 0:
		return 0
	case !a.log:
		return v / a.most
	}
	const least = 0.02 // the first value on the axis is still seen
	return max(least, math.Log10(v/a.least)/math.Log10(a.most/a.least))
}
