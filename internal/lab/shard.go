package lab

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// Shard is one of several parts into which a whole is split, one for each machine: together they are exactly the whole. The zero Shard is the
// whole itself.
type Shard struct{ Index, Of int } // Index is from 1 to Of

// ParseShard reads "2/4".
func ParseShard(text string) (Shard, error) {
	var s Shard
	var rest string
	if count, _ := fmt.Sscanf(text, "%d/%d%s", &s.Index, &s.Of, &rest); count != 2 || s.Index < 1 || s.Index > s.Of {
		return Shard{}, fmt.Errorf("i/n with i from 1 to n, for example 1/4, not %q", text)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Cases are those of the shard, in their order.
func (s Shard) Cases(cases []Case) []Case { return pick(cases, s.places(caseCosts(cases))) }

// Locks are those of the shard, in their order.
func (s Shard) Locks(locks []impls.Spec) []impls.Spec { return pick(locks, s.places(lockCosts(locks))) }

// places are the items of the shard. Those that cost most are dealt first, each to the part with the least so far, so that all parts take about
// as long; of equal parts to the one with the fewest items, so that equal items are spread evenly.
func (s Shard) places(costs []time.Duration) []int {
	order := make([]int, len(costs))
	for i := range order {
		order[i] = i
	}
	if s.Of == 0 {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	loads, parts := make([]time.Duration, s.Of), make([][]int, s.Of)
	for _, i := range order {
		least := 0
		for p := range parts {
			if cmp.Or(cmp.Compare(loads[p], loads[least]), cmp.Compare(len(parts[p]), len(parts[least]))) < 0 {
				least = p
			}
		}
		loads[least] += costs[i]
		parts[least] = append(parts[least], i)
	}
	mine := parts[s.Index-1]
	slices.Sort(mine)
	return mine
}

func pick[T any](all []T, places []int) []T {
	var picked []T
	for _, i := range places {
		picked = append(picked, all[i])
	}
	return picked
}

// part is what the record of a shard says of the whole, so that Merge finds out whether parts belong together.
func (s Shard) part(whole any, costs []time.Duration) *record.Part {
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err) // only values of this package, which all can be written
	}
	sum := sha256.Sum256(text)
	return &record.Part{Index: s.Index, Of: s.Of, Whole: hex.EncodeToString(sum[:8]), Total: len(costs), Places: s.places(costs)}
}

// About what a cell costs besides what its script waits for, in time on a busy machine.
const (
	cellCost          = 300 * time.Millisecond
	notApplicableCost = time.Millisecond
)

func caseCosts(cases []Case) []time.Duration {
	costs := make([]time.Duration, len(cases))
	for i, c := range cases {
		costs[i] = c.cost()
	}
	return costs
}

// cost is about how long a case takes, as far as is known beforehand.
func (c Case) cost() time.Duration {
	switch {
	case c.Storm != nil:
		return c.Storm.For
	case c.Expected.Verdict.Kind == checker.NotApplicable:
		return notApplicableCost
	}
	return cellCost + c.Script.Longest()
}

// whole is all that decides what the cells of a plan come to: parts of another whole are not merged. Addresses are no part of it, since each
// machine has its own; the server's name and version are compared by themselves.
func (p Plan) whole() any {
	type cell struct {
		record.Cell
		Script string
		Client []string
		Storm  *storm.Params
	}
	type setting struct {
		World, Wait               string
		Timeout                   time.Duration
		NoStateProbes, AnyCommand bool
	}
	cells := make([]cell, len(p.Cases))
	texts := map[*scenarios.Script]string{}
	for i, c := range p.Cases {
		if _, known := texts[c.Script]; !known {
			texts[c.Script] = string(scenarios.Format(c.Script))
		}
		cells[i] = cell{Cell: c.Planned(), Script: texts[c.Script], Client: c.Subject.Argv}
		if c.Storm != nil {
			cells[i].Storm = &c.Storm.Params
		}
	}
	return struct {
		Setting setting
		Cells   []cell
	}{setting{cmp.Or(p.World, Live), p.Wait, p.Timeout, p.NoStateProbes, p.AnyCommand}, cells}
}
