package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// onThree is a judge of a lock on three servers whose clients are all acquiring.
func onThree() *judge {
	j := &judge{s: &state{}, clients: 3, lease: 1000, margin: 20, several: true, sharing: newSharing(3, 1), only: ofOwners}
	for i := range j.clients {
		j.s.clients[i].phase = acquiring
	}
	return j
}

// send is a command of a client's acquire to one server. What it makes there expires after a second.
func (j *judge) send(server int8, client int, effect history.Effect) {
	j.commanded(command{
		sending: sending{client: client, op: history.OpAcquire}, effect: effect, server: server, before: effect != history.EffectCreated,
		after: history.State{Type: "string", Value: "v", TTL: time.Second},
	})
}

// taken is a judge who has seen the first client take the servers.
func taken(servers ...int8) *judge {
	j := onThree()
	for _, server := range servers {
		j.send(server, 0, history.EffectCreated)
	}
	return j
}

// firstHas says whether the lock is the first client's.
func (j *judge) firstHas() bool {
	all := j.sharing.of(j.s.shares)
	return j.sharing.has(&all, 1, 0)
}

// wait lets time pass on what the servers have, and for the owner.
func (j *judge) wait(d ms) {
	j.s.shares = j.sharing.pass(j.s.shares, d)
	j.s.owner.ends -= d
}

// Half of four servers are not enough to have the lock, and keep others from it.
func TestHalfOfFourServersKeepTheLock(t *testing.T) {
	t.Parallel()
	j := onThree()
	j.sharing = newSharing(4, 1)
	for server, owner := range []uint8{0, 0, 1} {
		j.send(int8(server), 0, history.EffectCreated)
		assert.Equal(t, owner, j.s.owner.client, server)
	}
	for server, owner := range []uint8{1, 0} {
		j.commanded(command{sending: sending{client: 1}, effect: history.EffectRemoved, server: int8(server), before: true})
		assert.Equal(t, owner, j.s.owner.client, server)
	}
}

func TestAMajorityOfThreeIsTwo(t *testing.T) {
	t.Parallel()
	q := onThree().sharing
	assert.Equal(t, q.need, q.all-q.need+1, "who has so many keeps others from having the lock")
	assert.False(t, taken(1).firstHas())
	assert.Zero(t, taken(1).s.owner.client)
	assert.True(t, taken(1, 2).firstHas())
	assert.EqualValues(t, 1, taken(1, 2).s.owner.client)
}

func TestALeaseCountsUntilItsMargin(t *testing.T) {
	t.Parallel()
	for left, has := range map[ms]bool{21: true, 20: false, 1: false, 0: false} {
		j := taken(0, 1)
		j.wait(1000 - left)
		assert.Equal(t, has, j.firstHas(), "%d ms are left", left)
	}
}

func TestALockLeftInPlaceIsSeenWhereAMajorityIsOthers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		servers []int8
		doubt   bool
		left    ms
		found   anomalies
	}{
		"a majority":                     {[]int8{0, 1}, false, 1000, unreleasable},
		"one of them may have changed":   {[]int8{0, 1}, true, 1000, 0},
		"one server":                     {[]int8{0}, false, 1000, 0},
		"a majority, at the lease's end": {[]int8{0, 1}, false, 20, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := taken(test.servers...)
			j.s.owner.leaves(true)
			j.called(1, history.OpAcquire)
			if test.doubt {
				j.doubt(1)
			}
			j.wait(1000 - test.left)
			j.send(0, 1, history.EffectNone)
			assert.Zero(t, j.found, "the acquire may go on")
			j.returned(1, history.OpAcquire, history.Answer{Outcome: history.No})
			assert.Equal(t, test.found, j.found)
		})
	}
}

func TestAChallengerIsWhoReplacesAMajority(t *testing.T) {
	t.Parallel()
	j := taken(0, 1, 2)
	j.s.owner.standing = ownership.Granted
	j.s.clients[0].set(on)
	j.send(0, 1, history.EffectReplaced)
	assert.False(t, j.s.clients[1].has(challenge), "one server is not enough")
	j.wait(300)
	j.send(1, 1, history.EffectReplaced)
	assert.True(t, j.s.clients[1].has(challenge))
	assert.EqualValues(t, 700, j.s.clients[1].claims, "until it has no majority any more")
	assert.EqualValues(t, 1, j.s.owner.client, "it has not been told yet")
	j.settleOwner(1, true)
	assert.EqualValues(t, 2, j.s.owner.client)
}

func TestAnAcquireThatWasGivenUpChallengesNobody(t *testing.T) {
	t.Parallel()
	j := taken(0, 1, 2)
	j.s.owner.standing = ownership.Granted
	j.s.clients[0].set(on)
	j.s.clients[1].phase = waiting
	j.send(0, 1, history.EffectReplaced)
	j.send(1, 1, history.EffectReplaced)
	assert.False(t, j.s.clients[1].has(challenge))
	assert.EqualValues(t, 1, j.s.owner.client)
}

func TestAGhostIsMetWhereTheShareIsItsOwn(t *testing.T) {
	t.Parallel()
	for server, met := range map[int8]bool{0: true, 1: true, 2: false} {
		j := taken(0, 1)
		j.send(2, 2, history.EffectCreated)
		j.s.owner.standing = ownership.Refused
		j.send(server, 1, history.EffectNone)
		assert.Equal(t, met, j.s.clients[1].has(metGhost), "server %d", server)
	}
}

func TestAGhostOfAnotherAcquireIsNotMet(t *testing.T) {
	t.Parallel()
	j := taken(0, 1)
	j.s.owner.standing, j.s.owner.ago = ownership.Refused, 1
	j.send(0, 1, history.EffectNone)
	assert.False(t, j.s.clients[1].has(metGhost))
}

func TestAnOwnerProlongsItsLeaseOnAMajority(t *testing.T) {
	t.Parallel()
	j := taken(0, 1, 2)
	j.wait(600)
	j.send(0, 0, history.EffectProlonged)
	assert.EqualValues(t, 400, j.s.owner.ends, "two servers still end before")
	j.send(1, 0, history.EffectProlonged)
	assert.EqualValues(t, 1000, j.s.owner.ends)
	j.wait(100)
	j.send(0, 1, history.EffectProlonged)
	j.send(1, 1, history.EffectProlonged)
	assert.EqualValues(t, 900, j.s.owner.ends, "a stranger prolongs nobody's claim")
}

func TestAShareThatChangedUnseenIsNobodys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		there, stale, before bool
		found                uint32
		client               uint8
	}{
		"as it was":                {true, false, true, 5, 1},
		"doubted, and as it was":   {true, true, true, 5, 1},
		"doubted, another's value": {true, true, true, 6, 0},
		"gone":                     {true, false, false, 0, 0},
		"come back":                {false, false, true, 5, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := share{client: 1, ago: 2, there: test.there, stale: test.stale, value: 5}
			p.observe(command{before: test.before, found: test.found})
			assert.Equal(t, test.client, p.client)
			assert.Equal(t, 2*test.client, p.ago)
			assert.Equal(t, test.before, p.there)
			assert.False(t, p.stale)
		})
	}
}

func TestADoubtedShareDoesNotCountUntilItIsSeen(t *testing.T) {
	t.Parallel()
	j := taken(0, 1)
	j.doubt(2)
	assert.True(t, j.firstHas(), "nobody has known anything of that server")
	j.doubt(1)
	assert.False(t, j.firstHas())
	j.send(1, 1, history.EffectNone)
	assert.True(t, j.firstHas(), "it is as it was")
}

func TestTwoAcquiresMakeNoMajority(t *testing.T) {
	t.Parallel()
	j := taken(0)
	j.calledAnother(0)
	j.send(1, 0, history.EffectCreated)
	assert.False(t, j.firstHas())
	assert.Zero(t, j.s.owner.client)
	j.send(2, 0, history.EffectCreated)
	assert.True(t, j.firstHas())
}
