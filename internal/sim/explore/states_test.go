package explore

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// TestStates freezes small searches of every lock: how many states they find, in how many steps, what they conclude and by which
// counterexample. A change that is not meant to change the search leaves testdata/states.golden as it is.
func TestStates(t *testing.T) {
	needs.Long(t, "small searches of every lock")
	specs := impls.Explored()
	lines := make([]string, len(specs))
	t.Run("locks", func(t *testing.T) {
		for i, spec := range specs {
			t.Run(spec.Name, func(t *testing.T) {
				t.Parallel()
				var b strings.Builder
				for _, search := range smallSearches(spec) {
					fmt.Fprintf(&b, "%-24s %-14s %s\n", spec.Name, search.name, search.summary(t))
				}
				lines[i] = b.String()
			})
		}
	})
	got := strings.Join(lines, "")
	if *update {
		require.NoError(t, os.WriteFile(statesFile, []byte(got), 0o644))
	}
	text, err := os.ReadFile(statesFile)
	require.NoError(t, err)
	want, have := strings.Split(string(text), "\n"), strings.Split(got, "\n")
	require.Len(t, have, len(want))
	for i := range want {
		assert.Equal(t, want[i], have[i], "run go test -update if this is meant")
	}
}

const statesFile = "testdata/states.golden"

var update = flag.Bool("update", false, "rewrite the golden file")

// The summary tells searches apart: a golden file of summaries that are all alike would freeze nothing.
func TestStatesTellSearchesApart(t *testing.T) {
	search := smallSearch{config: Config{Lock: lock(t, "setpx-del"), Clients: 2, Rounds: 1, Budget: Budget{faults.Pause: 1}, MostFaults: 1}}
	one := search.summary(t)
	search.config.Budget = Budget{faults.Crash: 1}
	require.NotEqual(t, one, search.summary(t))
}

type smallSearch struct {
	name   string
	config Config
}

// smallSearches are what is frozen of a lock: all kinds of faults, what it promises in particular, and no fault at all.
func smallSearches(spec impls.Spec) []smallSearch {
	all := Config{Lock: spec}.Usual()
	all.States = 4_000
	sound := all
	sound.Clients, sound.Only = 2, []checker.Name{checker.DoubleHolder}
	quiet := Config{Lock: spec, Clients: 2, Rounds: 2, Servers: all.Servers, States: 4_000}
	apart := quiet
	apart.NoSymmetry, apart.Rounds = true, 1
	deep := all
	deep.Only, deep.States = []checker.Name{checker.FenceRegression, checker.Unfair}, 12_000 // nothing is to end the search
	searches := []smallSearch{{"all", all}, {"deep", deep}, {"double-holder", sound}, {"no-fault", quiet}, {"no-symmetry", apart}}
	promises := func(p impls.Promise) bool { return slices.Contains(spec.Promises, p) }
	if promises(impls.Reentrance) {
		again := all
		again.Clients, again.Reenter = 2, 1
		searches = append(searches, smallSearch{"re-entered", again})
	}
	if promises(impls.Fairness) && spec.Needs != impls.OneZooKeeper {
		fair := all
		fair.Only, fair.Skew = []checker.Name{checker.Unfair}, 20*learn.Lease
		searches = append(searches, smallSearch{"unfair", fair})
	}
	if spec.Servers <= 1 && spec.Needs != impls.OneZooKeeper {
		lagging := Config{Lock: spec, Clients: 2, Rounds: 2, Budget: Budget{faults.FailOver: 1}, MostFaults: 1, Lag: 2, States: 4_000}
		searches = append(searches, smallSearch{"lag", lagging})
	}
	return searches
}

// summary is all of a result that does not depend on the machine.
func (s smallSearch) summary(t *testing.T) string {
	t.Helper()
	r, err := Explore(t.Context(), s.config)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%d states, %d nodes, longest %d, faults %d, steps %d, symmetric %v, horizon %v, limit %q, %v, disputed %d",
		r.States, r.Nodes, r.Longest, r.Faults, r.Steps, r.Symmetric, r.Horizon, r.Limit, r.Coverage, len(r.Disputed))
	if r.Found == nil {
		return text
	}
	hash := fnv.New32a()
	for _, step := range r.Found.Steps {
		fmt.Fprintf(hash, "%v %s %d %d %v %v %v %s %v\n", step.At, step.Kind, step.Client, step.Server, step.Op, step.Answer.Outcome, step.Request, step.Reply, step.After.Holds)
	}
	return fmt.Sprintf("%s, %v in %d steps after %d faults (%08x)", text, r.Found.Anomalies, len(r.Found.Steps), len(r.Found.Faults), hash.Sum32())
}
