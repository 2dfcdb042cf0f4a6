package export

import (
	"cmp"
	"slices"
	"time"
)

// slice is something that lasts in the lane of a client or server.
type slice struct {
	owner    string // the client or server
	order    int    // 0: an operation; else a command
	from, to time.Duration
	lane     int // of its owner, from 0; set by layOut
	event    traceEvent
	arrow    int // number of the arrow that begins here; negative: that ends here; zero: none
}

// layOut puts slices into lanes so that two of the same lane are either apart, or one is within the other, as viewers of traces demand. What is within another ends before it, by a
// nanosecond at least: viewers add times as floating point numbers. An operation is within nothing.
func layOut(all []slice) {
	slices.SortStableFunc(all, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.order, b.order))
	})
	lanes := map[string][][]time.Duration{} // by owner: of each lane the ends of the slices that enclose the next
	for i := range all {
		s := &all[i]
		s.to = max(s.to, s.from+1)
		list := lanes[s.owner]
		for n := range list {
			for len(list[n]) > 0 && list[n][len(list[n])-1] <= s.from {
				list[n] = list[n][:len(list[n])-1]
			}
		}
		s.lane = slices.IndexFunc(list, func(ends []time.Duration) bool {
			return len(ends) == 0 || s.order > 0 && ends[len(ends)-1] >= max(s.to, s.from+2)
		})
		if s.lane < 0 {
			s.lane, list = len(list), append(list, nil)
		}
		if n := len(list[s.lane]); n > 0 && list[s.lane][n-1] == s.to {
			s.to--
		}
		list[s.lane] = append(list[s.lane], s.to)
		lanes[s.owner] = list
	}
}
