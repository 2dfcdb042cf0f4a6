package explore

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// voting is a lock on a majority whose release takes a lost reply for a refusal.
func voting(servers int) impls.Spec {
	spec := stranger(func(p plain) impls.Lock { return &voter{plain: p} })
	spec.Needs, spec.Servers = impls.MostServers, servers
	return spec
}

// One reply is lost: of two servers that is a majority. Of three it is, if the client waits for it until the lease has ended on the third.
func TestAReleaseOfAMajorityAnsweredNoIsFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lock    impls.Spec
		servers int
		lost    []faults.Kind
		found   bool
	}{
		"of two servers":                  {voting(2), 2, []faults.Kind{faults.ReplyLost}, true},
		"of three, one is over meanwhile": {voting(3), 3, []faults.Kind{faults.ReplyLost}, true},
		"no reply is lost":                {voting(3), 3, nil, false},
		"a lost reply is no refusal":      {lock(t, "redlock"), 3, []faults.Kind{faults.ReplyLost}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{Lock: test.lock, Servers: test.servers, Clients: 1, Rounds: 1, Only: []checker.Name{checker.FalseAlarm}}
			config.Budget, config.MostFaults = spend(test.lost...), len(test.lost)
			result := explored(t, config.Usual())
			assert.Equal(t, test.found, result.Found != nil)
			assert.True(t, test.found || result.Complete(), result.Limit)
		})
	}
}

func TestTheJudgesAgreeOnReleasesOfAMajority(t *testing.T) {
	needs.Long(t, "searches that take much memory")
	t.Parallel()
	for _, servers := range []int{2, 3} {
		t.Run(strconv.Itoa(servers), func(t *testing.T) {
			t.Parallel()
			shown := walk(t, Config{Lock: voting(servers), Servers: servers}, 30, func(n checker.Name) bool {
				return n != checker.Unfair && n != checker.WrongfulRenew
			})
			assert.NotZero(t, shown)
		})
	}
}
