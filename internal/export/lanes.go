package export

import (
	"cmp"
	"slices"
	"time"
)

// slice is something that lasts in the lane of a client or server.
type slice struct {
	owner    string // the client or server
	order    int    // of slices that begin at once and last as long, the least is outermost
	from, to time.Duration
	lane     int // of its owner, from 0; set by layOut
	event    traceEvent
	arrow    int // number of the arrow that begins here; negative: that ends here; zero: none
}

// layOut puts slices into lanes so that two of the same lane are either apart, or one is within the other, as viewers of traces demand.
func layOut(slices_ []slice) {
	slices.SortStableFunc(slices_, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.order, b.order))
	})
	open := map[string][][]time.Duration{} // by owner and lane: the ends of the slices that enclose the next
	for i := range slices_ {
		s := &slices_[i]
		lanes := open[s.owner]
		s.lane = slices.IndexFunc(lanes, func(ends []time.Duration) bool {
			for len(ends) > 0 && ends[len(ends)-1] <= s.from {
				ends = ends[:len(ends)-1]
			}
			return len(ends) == 0 || ends[len(ends)-1] >= s.to
		})
		if s.lane < 0 {
			s.lane = len(lanes)
			lanes = append(lanes, nil)
		}
		ends := lanes[s.lane]
		for len(ends) > 0 && ends[len(ends)-1] <= s.from {
			ends = ends[:len(ends)-1]
		}
		lanes[s.lane] = append(ends, s.to)
		open[s.owner] = lanes
	}
}
