package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

func TestUpdatesThatAreLost(t *testing.T) {
	t.Parallel()
	acknowledges := func(j *judge, client int, read int64) {
		j.called(client, history.OpWork)
		j.worked(client, history.Answer{Outcome: history.OK, Read: read})
	}
	tests := map[string]struct {
		story func(j *judge)
		found anomalies
	}{
		"each reads what the one before wrote": {func(j *judge) { acknowledges(j, 0, 0); acknowledges(j, 1, 1) }, 0},
		"both read the same":                   {func(j *judge) { acknowledges(j, 0, 0); acknowledges(j, 1, 0) }, lostUpdate},
		"one of both is not acknowledged": {func(j *judge) {
			acknowledges(j, 0, 0)
			j.called(1, history.OpWork)
			j.worked(1, history.Answer{Outcome: history.Unknown})
			acknowledges(j, 1, 1)
		}, 0},
		"it reads less than was acknowledged before": {func(j *judge) { acknowledges(j, 0, 0); acknowledges(j, 0, 2); acknowledges(j, 1, 1) }, lostUpdate},
		"it reads less than was acknowledged meanwhile": {func(j *judge) {
			acknowledges(j, 0, 0)
			j.called(1, history.OpWork)
			acknowledges(j, 0, 2)
			j.worked(1, history.Answer{Outcome: history.OK, Read: 1})
		}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := &judge{s: &state{}, clients: 2, only: lostUpdate}
			test.story(j)
			assert.Equal(t, test.found, j.found)
		})
	}
}

// The lease of a lock without one on its server counts from the command before, and from the call if that is the first.
func TestWhenALeaseOfTheClientsBegins(t *testing.T) {
	t.Parallel()
	j := &judge{s: &state{}, clients: 1, lease: 1000, owners: true, only: ofOwners}
	c := &j.s.clients[0]
	c.since = 700 // than the last command of its latest operation
	j.called(0, history.OpAcquire)
	j.pass(100)
	j.commanded(command{sending: sending{client: 0, op: history.OpAcquire}, effect: history.EffectCreated, after: history.State{Type: "string", Value: "v"}})
	assert.Equal(t, j.lease-100, j.s.owner.ends)
}
