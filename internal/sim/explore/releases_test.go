package explore

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
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

// releasingOn is a judge of a lock on three servers that the first client has on some, and is releasing.
func releasingOn(servers ...int8) *judge {
	j := taken(servers...)
	j.returned(0, history.OpAcquire, history.Answer{Outcome: history.OK})
	j.called(0, history.OpRelease)
	return j
}

// remove is a command that removes what a server has: of the first client's release, or of another client's command.
func (j *judge) remove(server int8, client int) {
	op := history.OpRelease
	if client != 0 {
		op = history.OpNone
	}
	j.commanded(command{sending: sending{client: client, op: op}, effect: history.EffectRemoved, server: server, before: true})
}

// A release of a majority is a false alarm if it is answered no and has removed the lock itself from as many servers as it needs.
func TestAReleaseAnsweredNoThatRemovedAMajority(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		servers []int8
		then    func(*judge)
		outcome history.Outcome
		found   anomalies
	}{
		"from both":          {[]int8{0, 1}, func(j *judge) { j.remove(0, 0); j.remove(1, 0) }, history.No, falseAlarm},
		"from two of three":  {[]int8{0, 1, 2}, func(j *judge) { j.remove(0, 0); j.remove(2, 0) }, history.No, falseAlarm},
		"from all":           {[]int8{0, 1, 2}, func(j *judge) { j.remove(0, 0); j.remove(1, 0); j.remove(2, 0) }, history.No, falseAlarm},
		"from one of two":    {[]int8{0, 1}, func(j *judge) { j.remove(0, 0) }, history.No, 0},
		"answered ok":        {[]int8{0, 1}, func(j *judge) { j.remove(0, 0); j.remove(1, 0) }, history.OK, 0},
		"not known":          {[]int8{0, 1}, func(j *judge) { j.remove(0, 0); j.remove(1, 0) }, history.Unknown, 0},
		"a stranger removed": {[]int8{0, 1}, func(j *judge) { j.remove(0, 1); j.remove(1, 0) }, history.No, 0},
		"one server twice": {[]int8{0, 1}, func(j *judge) {
			j.remove(0, 0)
			j.commanded(command{
				sending: sending{client: 0, op: history.OpAcquire, ended: true, ok: true}, effect: history.EffectCreated, server: 0,
				after: history.State{Type: "string", Value: "v", TTL: 1e9},
			})
			j.remove(0, 0)
		}, history.No, 0},
		"in doubt before": {[]int8{0, 1}, func(j *judge) { j.doubt(1); j.called(0, history.OpRelease); j.remove(0, 0); j.remove(1, 0) }, history.No, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := releasingOn(test.servers...)
			test.then(j)
			j.found = 0
			j.returned(0, history.OpRelease, history.Answer{Outcome: test.outcome})
			assert.Equal(t, test.found, j.found&falseAlarm)
			assert.Zero(t, j.s.clients[0].lastRelease)
		})
	}
}

func TestAReleaseAfterTheLeaseIsNoFalseAlarm(t *testing.T) {
	t.Parallel()
	for left, found := range map[ms]anomalies{21: falseAlarm, 20: 0} {
		j := taken(0, 1)
		j.returned(0, history.OpAcquire, history.Answer{Outcome: history.OK})
		j.wait(1000 - left)
		j.called(0, history.OpRelease)
		j.remove(0, 0)
		j.remove(1, 0)
		j.returned(0, history.OpRelease, history.Answer{Outcome: history.No})
		assert.Equal(t, found, j.found, "%d ms are left", left)
	}
}
