package explore

import (
	"cmp"
	"flag"
	"testing"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

var strangerWalks = flag.Int("stranger-walks", 0, "random paths through each lock that takes locks by force; 0: 6, or 40 in full")

// Locks that take the lock whoever has it: so an owner's value is replaced by clients that crash, give up, or are answered late.
func TestTheJudgesAgreeOnLocksThatUseForce(t *testing.T) {
	t.Parallel()
	walks := cmp.Or(*strangerWalks, needs.Count(t, "random paths", 6, 40))
	for name, made := range map[string]func(plain) impls.Lock{
		"forcer":    func(p plain) impls.Lock { return &forcer{p} },
		"setter":    func(p plain) impls.Lock { return &setter{p} },
		"keeper":    func(p plain) impls.Lock { return &keeper{prolonger{p}} },
		"forgetter": func(p plain) impls.Lock { return &forgetter{p} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk(t, Config{Lock: stranger(made)}, walks, onTheWay)
		})
	}
}
