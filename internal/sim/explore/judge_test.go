package explore

import (
	"testing"
	"time"

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
	j := &judge{s: &state{}, clients: 1, lease: 1000, nominal: true, owners: true, only: ofOwners}
	c := &j.s.clients[0]
	c.since = 700 // than the last command of its latest operation
	j.called(0, history.OpAcquire)
	j.pass(100, false)
	j.commanded(command{sending: sending{client: 0, op: history.OpAcquire}, effect: history.EffectCreated, after: history.State{Type: "string", Value: "v"}})
	assert.Equal(t, j.lease-100, j.s.owner.ends)
}

// A release that came to unknown may be asked for once more, until its client acquires again.
func TestAReleaseIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	j := &judge{s: &state{}, clients: 1, lease: 1000, owners: true, only: ofOwners, again: true}
	c := &j.s.clients[0]
	release := func(outcome history.Outcome) {
		j.called(0, history.OpRelease)
		j.returned(0, history.OpRelease, history.Answer{Outcome: outcome})
	}
	acquire := func() {
		j.called(0, history.OpAcquire)
		j.returned(0, history.OpAcquire, history.Answer{Outcome: history.OK})
	}
	acquire()
	release(history.Unknown)
	assert.EqualValues(t, 1, c.round)
	assert.True(t, c.has(unsure))
	release(history.Unknown)
	assert.EqualValues(t, 1, c.round, "it is the same release")
	acquire()
	release(history.Unknown)
	assert.EqualValues(t, 2, c.round)
	acquire()
	assert.False(t, c.has(unsure))
	release(history.OK)
	assert.EqualValues(t, 3, c.round)
}

// What is left of a lock that its user was told is lost is nobody's.
func TestAHoldThatIsLostIsOver(t *testing.T) {
	t.Parallel()
	removedAfter := func(then func(j *judge)) anomalies {
		j := &judge{s: &state{}, clients: 2, lease: 1000, owners: true, only: ofOwners}
		there := history.State{Type: "string", Value: "v", TTL: 1e9}
		j.called(0, history.OpAcquire)
		j.commanded(command{sending: sending{client: 0, op: history.OpAcquire}, effect: history.EffectCreated, after: there})
		j.returned(0, history.OpAcquire, history.Answer{Outcome: history.OK})
		then(j)
		j.commanded(command{sending: sending{client: 1, op: history.OpRelease}, effect: history.EffectRemoved, before: true})
		return j.found & wrongfulDelete
	}
	assert.Equal(t, wrongfulDelete, removedAfter(func(*judge) {}))
	assert.Zero(t, removedAfter(func(j *judge) { j.lost(0) }))
}

// A client may acquire again what it has, and be told otherwise than before.
func TestAHoldersNextAcquire(t *testing.T) {
	t.Parallel()
	granted := history.Answer{Outcome: history.OK, Limited: true, Valid: time.Second}
	tests := map[string]struct {
		before  func(j *judge)
		answer  history.Answer
		holds   bool
		phase   phase
		entered uint8
		count   uint8
	}{
		"granted":                {func(*judge) {}, granted, true, holding, 1, 2},
		"granted after the end":  {func(j *judge) { j.pass(1000, false) }, granted, true, holding, 1, 1},
		"granted, and over":      {func(*judge) {}, history.Answer{Outcome: history.OK, Limited: true}, false, holding, 1, 0},
		"refused":                {func(*judge) {}, history.Answer{Outcome: history.No}, true, holding, 1, 1},
		"refused after its loss": {func(j *judge) { j.lost(0) }, history.Answer{Outcome: history.No}, false, waiting, 0, 0},
		"not known":              {func(*judge) {}, history.Answer{Outcome: history.Unknown}, true, holding, 1, 1},
		"not known after a loss": {func(j *judge) { j.lost(0) }, history.Answer{Outcome: history.Unknown}, false, waiting, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := &judge{s: &state{}, clients: 2, lease: 1200, owners: true, only: ofOwners | doubleHolder}
			j.called(0, history.OpAcquire)
			j.returned(0, history.OpAcquire, granted)
			test.before(j)
			j.called(0, history.OpAcquire)
			j.returned(0, history.OpAcquire, test.answer)
			c := &j.s.clients[0]
			assert.Equal(t, test.holds, j.active(0))
			assert.Equal(t, test.phase, c.phase)
			assert.Equal(t, test.entered, c.entered)
			assert.Equal(t, test.count, c.count)
			j.called(1, history.OpAcquire)
			j.returned(1, history.OpAcquire, granted)
			assert.Equal(t, test.holds, j.found&doubleHolder != 0)
		})
	}
}

// A hold lasts for as long as the lock has declared last. What declares nothing leaves its end as it was.
func TestHowLongAHoldLasts(t *testing.T) {
	t.Parallel()
	j := &judge{s: &state{}, clients: 2, only: doubleHolder}
	c := &j.s.clients[0]
	j.beginHold(0, time.Second, true)
	ends := c.ends
	assert.Positive(t, ends)
	j.beginHold(0, 0, false)
	assert.Equal(t, ends, c.ends)
	j.beginHold(1, 0, false)
	assert.Equal(t, never, j.s.clients[1].ends)
	assert.Equal(t, doubleHolder, j.found)

	j.found = 0
	j.beginHold(0, 2*time.Second, true)
	assert.Greater(t, c.ends, ends)
	assert.Zero(t, j.found, "both had it before")

	c.from = 3000 // the command is longer ago than the lease lasts
	j.beginHold(0, time.Second, true)
	assert.Zero(t, c.ends)
	assert.False(t, j.active(0))
}

// The turn of a client that has acquired more than once lasts until its last release.
func TestAnInnerReleaseEndsNoTurn(t *testing.T) {
	t.Parallel()
	j := &judge{s: &state{}, clients: 1, lease: 1200, owners: true, counts: true, only: ofOwners}
	j.s.clients[0].ends = never
	for range 2 {
		j.called(0, history.OpAcquire)
		j.returned(0, history.OpAcquire, history.Answer{Outcome: history.OK})
	}
	for _, over := range []bool{false, true} {
		j.called(0, history.OpRelease)
		j.returned(0, history.OpRelease, history.Answer{Outcome: history.OK})
		assert.Equal(t, over, j.s.over)
	}
}

// A release that is refused, or whose outcome is not known, may have changed nothing: the turn goes on.
func TestOnlyAReleaseThatIsDoneEndsATurn(t *testing.T) {
	t.Parallel()
	for outcome, over := range map[history.Outcome]bool{history.OK: true, history.No: false, history.Unknown: false} {
		j := &judge{s: &state{}, clients: 1, lease: 1200, owners: true, only: ofOwners}
		j.s.clients[0].ends = never
		j.called(0, history.OpAcquire)
		j.returned(0, history.OpAcquire, history.Answer{Outcome: history.OK})
		j.called(0, history.OpRelease)
		j.returned(0, history.OpRelease, history.Answer{Outcome: outcome})
		assert.Equal(t, over, j.s.over, outcome)
	}
}

// A lock is falsely said to be lost only while its client certainly has it, and believes so.
func TestAFalseAlarm(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before func(s *state)
		found  anomalies
	}{
		"it has it":                            {func(*state) {}, falseAlarm},
		"its hold has ended":                   {func(s *state) { s.clients[0].ends = 0 }, 0},
		"it does not know of the latest lease": {func(s *state) { s.owner.sure = 0 }, 0},
		"the lease has ended":                  {func(s *state) { s.owner.ends = 0 }, 0},
		"another has it":                       {func(s *state) { s.owner.client = 2 }, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := &judge{s: &state{}, clients: 2, lease: 1200, owners: true, only: ofOwners}
			j.called(0, history.OpAcquire)
			there := history.State{Type: "string", Value: "v", TTL: time.Second}
			j.commanded(command{sending: sending{client: 0, op: history.OpAcquire}, effect: history.EffectCreated, after: there})
			j.returned(0, history.OpAcquire, history.Answer{Outcome: history.OK, Limited: true, Valid: time.Second})
			test.before(j.s)
			j.lost(0)
			assert.Equal(t, test.found, j.found&falseAlarm)
			assert.False(t, j.active(0))
		})
	}
}
