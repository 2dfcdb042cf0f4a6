package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

const second = time.Second

// ours is a part that is client 1's by acquire 1, for ten seconds.
func ours(server string) part {
	return part{Part: Part{1, 1}, server: server, there: true, value: "a", lease: 10 * second, ends: 10 * second, until: 10 * second}
}

func onParts(parts ...part) *quorum {
	q := newQuorum(3, 0)
	q.parts = parts
	return q
}

// Every part but one is client 1's by acquire 1. Two of three are a majority.
func TestVotes(t *testing.T) {
	tests := map[string]struct {
		change func(*part)
		votes  int
	}{
		"as it is":            {func(*part) {}, 2},
		"gone":                {func(p *part) { p.there = false }, 1},
		"in doubt":            {func(p *part) { p.stale = true }, 1},
		"another client's":    {func(p *part) { p.Client = 2 }, 1},
		"by another acquire":  {func(p *part) { p.Op = 2 }, 1},
		"lease in its margin": {func(p *part) { p.ends = second + 200*time.Millisecond }, 1},
		"lease just left":     {func(p *part) { p.ends = second + 201*time.Millisecond }, 2},
		"without an end":      {func(p *part) { p.ends = Never }, 2},
	}
	for name, test := range tests {
		last := ours("S2")
		test.change(&last)
		assert.Equal(t, test.votes, onParts(ours("S1"), last).votes(1, 1, second), name)
	}
	unknown := part{server: "S1", there: true, ends: Never}
	assert.Zero(t, onParts(unknown, unknown).votes(0, 0, second), "nobody has a part of which it is not known whose it is")
}

// When others can have the lock: once all but one of the parts are over, however long others' parts last.
func TestEnds(t *testing.T) {
	short, theirs, gone := ours("S2"), ours("S3"), ours("S3")
	short.ends, theirs.Client, gone.there = 5*second, 2, false
	assert.Equal(t, 5*second, onParts(ours("S1"), short).ends(1, 1, part.leaseEnd))
	assert.Equal(t, 10*second, onParts(ours("S1"), short, ours("S3")).ends(1, 1, part.leaseEnd))
	assert.Equal(t, 10*second, onParts(ours("S1"), short).ends(1, 1, part.expiry), "a key can last longer than what is left of the claim") // see until
	for _, other := range []part{theirs, gone} {
		assert.Zero(t, onParts(ours("S1"), other).ends(1, 1, part.leaseEnd), "one is no majority")
	}
}

func TestDoubtOfParts(t *testing.T) {
	for server, doubted := range map[string][]bool{
		"S1": {true, true, false}, "S1/x": {true, false, false}, "S2": {false, false, true}, "S3": {false, false, false},
	} {
		q := onParts(ours("S1/x"), ours("S1/y"), ours("S2"))
		q.doubt(server)
		for n, want := range doubted {
			assert.Equal(t, want, q.parts[n].stale, "%s after a doubt of %s", q.parts[n].server, server)
		}
	}
}

func TestAPartThatChangedUnseenIsNobodys(t *testing.T) {
	tests := map[string]struct {
		there, stale bool
		before       history.State
		known        bool
	}{
		"as it was":                {true, false, history.State{Type: "string", Value: "a"}, true},
		"doubted, and as it was":   {true, true, history.State{Type: "string", Value: "a"}, true},
		"doubted, another's value": {true, true, history.State{Type: "string", Value: "b"}, false},
		"changed by its lock":      {true, false, history.State{Type: "string", Value: "b"}, true},
		"gone":                     {true, false, history.State{}, false},
		"come back":                {false, false, history.State{Type: "string", Value: "a"}, false},
	}
	for name, test := range tests {
		p := ours("S1")
		p.there, p.stale = test.there, test.stale
		p.observe(test.before)
		assert.Equal(t, test.known, p.Part == Part{1, 1}, name)
		assert.Equal(t, test.before.Exists(), p.there, name)
		assert.False(t, p.stale, name)
	}
}

// Client 1's part ends after ten seconds; a command at one second claims it for twenty.
func TestAPartAfterACommand(t *testing.T) {
	was, longer := history.State{Type: "string", Value: "a", TTL: 9 * second}, history.State{Type: "string", Value: "a", TTL: 19 * second}
	other := history.State{Type: "string", Value: "b", TTL: 19 * second}
	tests := map[string]struct {
		effect history.Effect
		after  history.State
		mine   Part
		want   Part
		ends   time.Duration
	}{
		"its client prolongs it":               {history.EffectProlonged, longer, Part{1, 0}, Part{1, 1}, 20 * second},
		"another prolongs it":                  {history.EffectProlonged, longer, Part{2, 0}, Part{1, 1}, 10 * second},
		"another replaces it":                  {history.EffectReplaced, other, Part{2, 0}, Part{2, 0}, 20 * second},
		"another's acquire replaces it":        {history.EffectReplaced, other, Part{2, 1}, Part{2, 1}, 20 * second},
		"an acquire of its client replaces it": {history.EffectReplaced, other, Part{1, 2}, Part{1, 2}, 20 * second},
		"its client replaces it":               {history.EffectReplaced, other, Part{1, 0}, Part{1, 1}, 20 * second},
		"unclear, by another's acquire":        {history.EffectUnclear, was, Part{2, 1}, Part{2, 1}, 20 * second},
		"unclear, by another, with this value": {history.EffectUnclear, was, Part{2, 0}, Part{1, 1}, 10 * second},
		"unclear, by another, another value":   {history.EffectUnclear, other, Part{2, 0}, Part{2, 0}, 20 * second},
		"a stranger shortens it":               {history.EffectShortened, was, Part{2, 0}, Part{1, 1}, 10 * second},
		"its client has found it, and no more": {history.EffectNone, was, Part{1, 0}, Part{1, 1}, 10 * second},
		"another's acquire has found it":       {history.EffectNone, was, Part{2, 2}, Part{1, 1}, 10 * second},
	}
	for name, test := range tests {
		p := ours("S1")
		mine := Claim{Client: test.mine.Client, Op: test.mine.Op, Lease: 19 * second, Ends: 20 * second}
		p.apply(history.Change{Before: was, After: test.after}, test.effect, mine, false, second)
		assert.Equal(t, test.want, p.Part, name)
		assert.Equal(t, test.ends, p.ends, name)
		assert.Equal(t, second+test.after.TTL, p.until, name)
		assert.Equal(t, test.after.Value, p.value, name)
		assert.True(t, p.there, name)
	}
}

func TestHowManyServersALockNeeds(t *testing.T) {
	for _, test := range []struct{ servers, declared, need, keep int }{
		{3, 0, 2, 2}, {4, 0, 3, 2}, {5, 0, 3, 3}, {3, 1, 1, 3}, {3, 3, 3, 1}, {3, 4, 3, 1}, {2, 0, 2, 1},
	} {
		q := newQuorum(test.servers, test.declared)
		assert.Equal(t, [2]int{test.need, test.keep}, [2]int{q.need, q.keep}, "%+v", test)
		assert.Equal(t, test.need, (&Lock{quorum: q}).Need(), "%+v", test)
	}
	assert.Equal(t, 1, new(Lock).Need())
}
