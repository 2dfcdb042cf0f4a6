package world

import (
	"math/bits"
	"slices"

	"github.com/locklab/locklab/faults"
)

// budget is the faults that may strike.
type budget struct {
	kinds   []faults.Kind
	servers []faults.Kind // those of servers, in the order of the catalogue
	of      map[faults.Kind]int
	most    int // altogether
}

func newBudget(config Config) budget {
	b := budget{of: config.Budget, most: config.Most}
	for _, f := range faults.All() {
		if config.Budget[f.Kind] <= 0 {
			continue
		}
		b.kinds = append(b.kinds, f.Kind)
		if f.Target == faults.OnServer && f.Flag != "" {
			b.servers = append(b.servers, f.Kind)
		}
	}
	slices.Sort(b.kinds)
	return b
}

// struck are the faults so far.
type struck struct {
	kinds [mostKinds]uint8 // by their place in budget.kinds
	all   int
	hurts bool // one of them is neither a pause nor a long hold
}

// place is the place of a kind of fault that may strike; negative: it may not.
func (b *budget) place(kind faults.Kind) int { return slices.Index(b.kinds, kind) }

// may says whether there are so many more faults of a kind.
func (b *budget) may(k *struck, kind faults.Kind, more int) bool {
	at := b.place(kind)
	return more == 0 || at >= 0 && int(k.kinds[at])+more <= b.of[kind] && k.all+more <= b.most
}

// mayStrike are the kinds of faults one of which may strike, in bits.
func (b *budget) mayStrike(k *struck) (may uint32) {
	for at, kind := range b.kinds {
		if b.may(k, kind, 1) {
			may |= 1 << at
		}
	}
	return may
}

// mayPass says whether it has the faults that a choice takes by which time passes.
func (b *budget) mayPass(k *struck, o Choice) bool {
	paused, busy := bits.OnesCount8(o.paused), bits.OnesCount8(o.busy)
	return b.may(k, faults.Pause, paused) && b.may(k, faults.LongHold, busy) && k.all+paused+busy <= b.most
}

// spend counts the faults of a choice.
func (b *budget) spend(k struck, o Choice) struck {
	add := func(kind faults.Kind, n int) {
		if n > 0 {
			k.kinds[b.place(kind)] += uint8(n)
			k.all += n
			k.hurts = k.hurts || kind != faults.Pause && kind != faults.LongHold
		}
	}
	if o.kind == strikes || o.kind == strikesServer {
		add(b.kinds[o.fault], 1)
	}
	add(faults.Pause, bits.OnesCount8(o.paused))
	add(faults.LongHold, bits.OnesCount8(o.busy))
	return k
}
