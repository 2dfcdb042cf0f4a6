package replay

import (
	"cmp"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/sim/trace"
)

// shows says whether the trace with its beats in another order still has its anomalies.
func (t *tale) shows(beats []*beat) bool {
	events := slices.Clone(t.prologue)
	for _, part := range [][]*beat{beats, t.trial} {
		for _, b := range part {
			events = append(events, b.events...)
		}
	}
	events = append(events, t.epilogue...)
	seen := checker.Judge(events, checker.Options{}).Names()
	return !slices.ContainsFunc(t.trace.Anomalies, func(name checker.Name) bool { return !slices.Contains(seen, name) })
}

// prune leaves out operations that nothing comes of: tries that were refused, and work whose data nobody misses.
func (t *tale) prune() {
	isWork := func(b *beat) bool { return b.deed != nil && b.deed.op == history.OpWork }
	spoilt := func(b *beat) bool { return isWork(b) && b.deed.spoilt }
	if !slices.ContainsFunc(t.beats, spoilt) && !slices.ContainsFunc(t.trace.Anomalies, isOfData) {
		t.without(isWork)
	}
	for _, b := range slices.Backward(t.beats) {
		d := b.deed
		if b.kind != trace.Call || d.spoilt || d.returned && d.outcome != history.No || d.changed && !t.unnoticed(d) {
			continue
		}
		t.without(func(b *beat) bool { return b.deed == d })
	}
}

// unnoticed says whether an operation took back all that it did, before anybody could meet it.
func (t *tale) unnoticed(d *deed) bool {
	first, last := map[int]int{}, map[int]int{} // of what it did to each server
	for i, b := range t.beats {
		if b.deed != d || !b.changes {
			continue
		}
		if _, known := first[b.server]; !known {
			first[b.server] = i
		}
		last[b.server] = i
	}
	for server, from := range first {
		met := func(b *beat) bool { return b.kind == trace.Time || b.server == server && b.deed != d }
		took, tookKnown := t.beats[from].change()
		gave, gaveKnown := t.beats[last[server]].change()
		if !tookKnown || !gaveKnown || took.Before.Exists() || gave.After.Exists() || slices.ContainsFunc(t.beats[from:last[server]], met) {
			return false
		}
	}
	return d.returned
}

func isOfData(name checker.Name) bool {
	return name == checker.StaleWrite || name == checker.LostUpdate
}

// without leaves out beats if the trace shows its anomalies all the same.
func (t *tale) without(out func(*beat) bool) {
	rest := slices.DeleteFunc(slices.Clone(t.beats), out)
	if len(rest) < len(t.beats) && t.shows(rest) {
		t.beats = rest
	}
}

// arrange puts the beats into the order that needs the fewest breakpoints, of those in which the same comes of everything: each
// client's own beats, and what changes a server together with what reads it, stay in their order, and nothing leaves its time. That
// calls and returns may move is up to the checker; at worst they are pinned.
func (t *tale) arrange() {
	type candidate struct {
		beats []*beat
		cost  int
	}
	lanes := t.lanes()
	var all []candidate
	for _, pinned := range []pins{{}, {calls: true}, {returns: true}, {returns: true, amidCalls: true}, {calls: true, returns: true}} {
		needs := t.needs(pinned)
		permute(len(lanes), func(ranks []int) {
			beats := line(lanes, needs, ranks)
			all = append(all, candidate{beats, breaks(beats)})
		})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	for _, c := range all {
		if c.cost >= breaks(t.beats) {
			return
		}
		if t.shows(c.beats) {
			t.beats = c.beats
			return
		}
	}
}

// lanes are the beats by client, and those of the lab, in the order in which they appear.
func (t *tale) lanes() [][]*beat {
	var lanes [][]*beat
	at := map[int]int{}
	for _, b := range t.beats {
		k, known := at[b.who]
		if !known {
			k = len(lanes)
			at[b.who], lanes = k, append(lanes, nil)
		}
		lanes[k] = append(lanes[k], b)
	}
	return lanes
}

// pins say which beats keep their place among all that is on record: calls, and returns, these also among calls.
type pins struct{ calls, returns, amidCalls bool }

func (p pins) hold(a, b *beat) bool {
	is := func(kind trace.Kind) bool { return a.kind == kind || b.kind == kind }
	switch {
	case len(a.events) == 0 || len(b.events) == 0:
		return false
	case is(trace.Call):
		return p.calls || p.amidCalls && is(trace.Return)
	}
	return p.returns && is(trace.Return)
}

// needs lists what must have come before each beat.
func (t *tale) needs(pinned pins) map[*beat][]*beat {
	needs := map[*beat][]*beat{}
	for i, b := range t.beats {
		for _, a := range t.beats[:i] {
			sameServer := a.server == b.server && a.server != nowhere && (a.changes || b.changes)
			if a.who == b.who || sameServer || pinned.hold(a, b) || a.kind == trace.Time || b.kind == trace.Time {
				needs[b] = append(needs[b], a)
			}
		}
	}
	return needs
}

// line lets each lane go on for as long as it can. Which one is next is by rank. Nobody calls an operation of which nothing can come yet.
func line(lanes [][]*beat, needs map[*beat][]*beat, ranks []int) []*beat {
	rest := slices.Clone(lanes)
	done := map[*beat]bool{}
	var order []*beat
	ready := func(b *beat) bool {
		return !slices.ContainsFunc(needs[b], func(a *beat) bool { return !done[a] })
	}
	idle := func(lane []*beat) bool { // its next beat would be a call that nothing can come of yet
		if lane[0].kind != trace.Call || len(lane) == 1 {
			return false
		}
		return slices.ContainsFunc(needs[lane[1]], func(a *beat) bool { return a != lane[0] && !done[a] })
	}
	next := func(current int) int {
		for _, idlers := range []bool{false, true} {
			for _, k := range slices.Concat([]int{current}, ranks) {
				if len(rest[k]) > 0 && ready(rest[k][0]) && idle(rest[k]) == idlers {
					return k
				}
			}
		}
		return -1
	}
	for current := next(ranks[0]); current >= 0; current = next(current) {
		b := rest[current][0]
		rest[current] = rest[current][1:]
		done[b] = true
		order = append(order, b)
	}
	return order
}

// breaks counts how often an operation is interrupted. One that was called and has not come to an end is open.
func breaks(beats []*beat) int {
	n := 0
	for i, b := range beats {
		if b.deed != nil && interrupted(beats, i) {
			n++
		}
	}
	return n
}

// interrupted says whether something comes between a beat and the next of its operation, or after the last one while the operation
// has not ended.
func interrupted(beats []*beat, i int) bool {
	b := beats[i]
	if b.kind == trace.Return {
		return false
	}
	for _, next := range beats[i+1:] {
		switch {
		case next.deed == b.deed:
			return false
		case next.kind != trace.Notice:
			return !lastOf(beats[i:]) || !b.deed.ending
		}
	}
	return false
}

// lastOf says whether nothing more comes of the first beat's operation.
func lastOf(beats []*beat) bool {
	return !slices.ContainsFunc(beats[1:], func(b *beat) bool { return b.deed == beats[0].deed })
}

// permute visits all orders of n numbers, first that in which they are sorted.
func permute(n int, visit func([]int)) {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	var place func(at int)
	place = func(at int) {
		if at == n {
			visit(slices.Clone(ranks))
			return
		}
		for i := at; i < n; i++ {
			ranks[at], ranks[i] = ranks[i], ranks[at]
			place(at + 1)
			ranks[at], ranks[i] = ranks[i], ranks[at]
		}
	}
	place(0)
}
