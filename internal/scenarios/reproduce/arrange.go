package reproduce

import (
	"cmp"
	"math"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
)

// shows says whether the trace with its moments in another order still has its anomalies.
func (t *schedule) shows(moments []*moment) bool {
	events := slices.Clone(t.prologue)
	for _, part := range [][]*moment{moments, t.trial} {
		for _, b := range part {
			events = append(events, b.events...)
		}
	}
	events = append(events, t.epilogue...)
	seen := checker.Judge(events, checker.Options{}).Names()
	return !slices.ContainsFunc(t.trace.Anomalies, func(name checker.Name) bool { return !slices.Contains(seen, name) })
}

// prune leaves out operations that nothing comes of: tries that were refused, and work whose data nobody misses.
func (t *schedule) prune() {
	isWork := func(b *moment) bool { return b.operation != nil && b.operation.op == history.OpWork }
	faulted := func(b *moment) bool { return isWork(b) && b.operation.faulted }
	if !slices.ContainsFunc(t.moments, faulted) && !slices.ContainsFunc(t.trace.Anomalies, isOfData) {
		t.without(isWork)
	}
	for _, b := range slices.Backward(t.moments) {
		d := b.operation
		if b.kind != trace.Call || d.faulted || d.beside || d.aside || d.learned || t.trace.Names != nil || d.returned && d.outcome != history.No || d.changed && !t.unnoticed(d) {
			continue
		}
		t.without(func(b *moment) bool { return b.operation == d })
	}
}

// unnoticed says whether an operation took back all that it did, before anybody could meet it; or, on a ZooKeeper, its node was never the first.
func (t *schedule) unnoticed(d *operation) bool {
	if t.behind(d) {
		return d.returned
	}
	first, last := map[int]int{}, map[int]int{} // of what it did to each server
	for i, b := range t.moments {
		if b.operation != d || !b.changes {
			continue
		}
		if _, known := first[b.server]; !known {
			first[b.server] = i
		}
		last[b.server] = i
	}
	for server, from := range first {
		met := func(b *moment) bool { return b.kind == trace.Time || b.server == server && b.operation != d }
		took, tookKnown := t.moments[from].change()
		gave, gaveKnown := t.moments[last[server]].change()
		if !tookKnown || !gaveKnown || took.Before.Exists() || gave.After.Exists() || slices.ContainsFunc(t.moments[from:last[server]], met) {
			return false
		}
	}
	return d.returned
}

func isOfData(name checker.Name) bool {
	return name == checker.StaleWrite || name == checker.LostUpdate
}

// without leaves out moments if the trace shows its anomalies all the same.
func (t *schedule) without(out func(*moment) bool) {
	rest := slices.DeleteFunc(slices.Clone(t.moments), out)
	if len(rest) < len(t.moments) && t.shows(rest) {
		t.moments = rest
	}
}

// How many lanes and moments there may be for orders to be tried. No counterexample has more; what a storm has found may.
const (
	mostLanes   = 6
	mostMoments = 80
)

// arrange puts the moments into the order that needs the fewest breakpoints, of those in which the same comes of everything: each
// process's own moments, and what changes a server together with what reads it, stay in their order, and nothing leaves its time. That
// calls and returns may move is up to the checker; at worst they are pinned. The same goes for what is under other keys, see asides.go; but
// where no order keeps to that, it may not matter.
func (t *schedule) arrange() {
	lanes := t.lanes()
	if len(lanes) == 0 || len(lanes) > mostLanes || len(t.moments) > mostMoments {
		return
	}
	for _, p := range []pins{{asides: true}, {}} {
		most := t.moments.breaks()
		if !holds(t.moments, t.needs(p)) {
			most = math.MaxInt // no script can force the order as it is
		}
		if t.arrangeBelow(most, lanes, p) || most < math.MaxInt {
			return
		}
	}
}

// arrangeBelow looks for an order that needs fewer breakpoints.
func (t *schedule) arrangeBelow(most int, lanes [][]*moment, p pins) bool {
	type candidate struct {
		moments order
		cost    int
	}
	var all []candidate
	for _, pinned := range []pins{{}, {calls: true}, {returns: true}, {returns: true, amidCalls: true}, {calls: true, returns: true}} {
		pinned.asides = p.asides
		needs := t.needs(pinned)
		permute(len(lanes), func(ranks []int) {
			moments := line(lanes, needs, ranks)
			if len(moments) == len(t.moments) {
				all = append(all, candidate{moments, moments.breaks()})
			}
		})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	for _, c := range all {
		if c.cost >= most {
			return false
		}
		if t.shows(c.moments) {
			t.moments = c.moments
			return true
		}
	}
	return false
}

// lanes are the moments by client, and those of the lab, in the order in which they appear.
func (t *schedule) lanes() [][]*moment {
	var lanes [][]*moment
	at := map[int]int{}
	for _, b := range t.moments {
		k, known := at[b.who]
		if !known {
			k = len(lanes)
			at[b.who], lanes = k, append(lanes, nil)
		}
		lanes[k] = append(lanes[k], b)
	}
	return lanes
}

// pins say which moments keep their place among all that is on record: calls, and returns, these also among calls. With asides, so do requests that
// breakpoints do not count, among each other.
type pins struct{ calls, returns, amidCalls, asides bool }

func (p pins) hold(a, b *moment) bool {
	is := func(kind trace.Kind) bool { return a.kind == kind || b.kind == kind }
	switch {
	case len(a.events) == 0 || len(b.events) == 0:
		return false
	case is(trace.Call):
		return p.calls || p.amidCalls && is(trace.Return)
	}
	return p.returns && is(trace.Return)
}

// needs lists what must have come before each moment.
func (t *schedule) needs(pinned pins) map[*moment][]*moment {
	needs := map[*moment][]*moment{}
	for i, b := range t.moments {
		for _, a := range t.moments[:i] {
			sameServer := a.server == b.server && a.server != nowhere && (a.changes || b.changes)
			broken := a.breaks != nil && a.breaks.server == b.server && strikes(b, faults.Restart, faults.FailOver)
			if a.host == b.host || sameServer || broken || pinned.hold(a, b) || a.kind == trace.Time || b.kind == trace.Time {
				needs[b] = append(needs[b], a)
			}
			if !pinned.asides {
				continue
			}
			first, second := asideFirst(a, b)
			if first {
				needs[b] = append(needs[b], a)
			}
			if second {
				needs[a] = append(needs[a], b)
			}
		}
	}
	return needs
}

// line lets each lane go on for as long as it can. Which one is next is by rank. Nobody calls an operation of which nothing can come yet.
func line(lanes [][]*moment, needs map[*moment][]*moment, ranks []int) order {
	rest := slices.Clone(lanes)
	done := map[*moment]bool{}
	var all order
	ready := func(b *moment) bool {
		return !slices.ContainsFunc(needs[b], func(a *moment) bool { return !done[a] })
	}
	idle := func(lane []*moment) bool { // its next moment would be a call that nothing can come of yet
		if lane[0].kind != trace.Call || len(lane) == 1 {
			return false
		}
		return slices.ContainsFunc(needs[lane[1]], func(a *moment) bool { return a != lane[0] && !done[a] })
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
		all = append(all, b)
	}
	return all
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
