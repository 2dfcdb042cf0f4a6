package readme

import (
	"fmt"
	"strings"
	"testing"

	"github.com/locklab/locklab/internal/sim/search"
)

// TestAssumptions holds what docs/tables/assumptions.md says a result rests on against what the explorer prints.
func TestAssumptions(t *testing.T) {
	redis := (&search.Result{Tries: search.UsualTries}).Assumptions()
	var text strings.Builder
	for i, zookeeper := range (&search.Result{Tries: search.UsualTries, Sessions: true}).Assumptions() {
		write := func(where string, a search.Assumption) {
			fmt.Fprintf(&text, "- **%s**%s\n", a.Short, where)
			for _, full := range a.Full {
				fmt.Fprintf(&text, "  - %s\n", full)
			}
		}
		if redis[i].Short == zookeeper.Short {
			write("", redis[i])
			continue
		}
		write(" (Redis)", redis[i])
		write(" (ZooKeeper)", zookeeper)
	}
	holdPart(t, "../../docs/tables/assumptions.md", fromAssumptions, text.String())
}
