package timeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

const ms = time.Millisecond

// log is a history being written. Each event comes a millisecond after the one before, unless something is waited for.
type log struct {
	events []history.Event
	now    time.Duration
}

func (l *log) add(e history.Event) *log {
	l.now += ms
	e.At = l.now
	if e.Lock == "" && e.Kind != history.KindFault && e.Kind != history.KindExit {
		e.Lock = "k"
	}
	l.events = append(l.events, e)
	return l
}

func (l *log) wait(d time.Duration) *log {
	l.now += d
	return l
}

func (l *log) open(client string, d history.Detail) *log {
	return l.add(history.Event{Kind: history.KindOpen, Client: client, Detail: &d})
}

func (l *log) call(client string, op history.Op, id int64) *log {
	return l.add(history.Event{Kind: history.KindCall, Client: client, Op: op, ID: id})
}

func (l *log) ret(client string, op history.Op, id int64, outcome history.Outcome, valid time.Duration) *log {
	return l.add(history.Event{Kind: history.KindReturn, Client: client, Op: op, ID: id, Outcome: outcome, Valid: valid})
}

// acquire is an acquire that took the lock on one server.
func (l *log) acquire(client string, id int64, valid time.Duration) *log {
	return l.call(client, history.OpAcquire, id).sets(client, id, "redis", history.State{}, 100*ms).ret(client, history.OpAcquire, id, history.OK, valid)
}

func (l *log) release(client string, id int64, outcome history.Outcome) *log {
	return l.call(client, history.OpRelease, id).ret(client, history.OpRelease, id, outcome, 0)
}

// sets is a command by which the client sets the lock on a server.
func (l *log) sets(client string, id int64, server string, before history.State, ttl time.Duration) *log {
	return l.command(client, id, server, before, history.State{Type: "string", Value: "of " + client, TTL: ttl})
}

func (l *log) command(client string, id int64, server string, before, after history.State) *log {
	return l.add(history.Event{Kind: history.KindCommand, Client: client, ID: id, Detail: &history.Detail{Command: &history.Command{
		Server: server, Sent: l.now + ms, Args: []string{"SET", "k"}, Reply: "OK", Asked: ms, Changes: []history.Change{{Key: "k", Before: before, After: after}},
	}}})
}

func (l *log) fault(name, target string, phase history.Phase, what string) *log {
	return l.add(history.Event{Kind: history.KindFault, Detail: &history.Detail{Fault: &history.Fault{Name: name, Target: target, Phase: phase, What: what}}})
}

func (l *log) skew(target string, rate float64) *log {
	what := faults.ClockSetting(0, rate)
	return l.fault("skew", target, history.PhaseInject, what).fault("skew", target, history.PhaseEffective, what)
}

func (l *log) event(kind history.Kind, client string, valid time.Duration) *log {
	return l.add(history.Event{Kind: kind, Client: client, Valid: valid})
}

// set is the state of the lock when it is a client's.
func set(client string, ttl time.Duration) history.State {
	return history.State{Type: "string", Value: "of " + client, TTL: ttl}
}

func begin() *log { return new(log).open("C1", history.Detail{Lease: 100 * ms}) }

// span words a span by the positions of its ends.
func span(s timeline.Span) string {
	if s.Open {
		return fmt.Sprintf("%v on", s.From)
	}
	return fmt.Sprintf("%v to %v (%v to %v)", s.From, s.To, s.Began, s.Ended)
}

func TestHolds(t *testing.T) {
	ends := map[timeline.End]string{
		timeline.NotEnded: "", timeline.Released: " released", timeline.Told: " told", timeline.Lapsed: " lapsed", timeline.Exited: " exited",
	}
	tests := map[string]struct {
		log  *log
		want []string
	}{
		"to the end":  {begin().acquire("C1", 1, 0), []string{"C1 3 on"}},
		"released":    {begin().acquire("C1", 1, 0).release("C1", 2, history.OK), []string{"C1 3 to 4 (4ms to 5ms) released"}},
		"told":        {begin().acquire("C1", 1, 0).event(history.KindLost, "C1", 0), []string{"C1 3 to 4 (4ms to 5ms) told"}},
		"exited":      {begin().acquire("C1", 1, 0).event(history.KindExit, "C1", 0), []string{"C1 3 to 4 (4ms to 5ms) exited"}},
		"refused":     {begin().call("C1", history.OpAcquire, 1).ret("C1", history.OpAcquire, 1, history.No, 0), nil},
		"unknown":     {begin().call("C1", history.OpAcquire, 1).ret("C1", history.OpAcquire, 1, history.Unknown, 0), nil},
		"after death": {begin().call("C1", history.OpAcquire, 1).event(history.KindExit, "C1", 0).ret("C1", history.OpAcquire, 1, history.OK, 0), nil},
		// From the command at 3ms the validity of 50ms lasts to 53ms at least, less what a client may round.
		"lapsed":         {begin().acquire("C1", 1, 50*ms).wait(60*ms).call("C2", history.OpAcquire, 2), []string{"C1 3 to 3.5 (4ms to 51ms) lapsed"}},
		"just valid":     {begin().acquire("C1", 1, 50*ms).wait(45*ms).call("C2", history.OpAcquire, 2), []string{"C1 3 on"}},
		"lapsed at once": {begin().acquire("C1", 1, 50*ms).wait(46*ms).call("C2", history.OpAcquire, 2), []string{"C1 3 to 3.5 (4ms to 51ms) lapsed"}},
		// At half the rate they last to 103ms, at twice the rate to 28ms.
		"clock runs slow": {
			begin().skew("C1", 0.5).acquire("C1", 1, 50*ms).wait(90*ms).call("C2", history.OpAcquire, 2).wait(10*ms).call("C2", history.OpAcquire, 3),
			[]string{"C1 5 to 6.5 (6ms to 103ms) lapsed"},
		},
		"clock runs fast":           {begin().skew("C1", 2).acquire("C1", 1, 50*ms).wait(25*ms).call("C2", history.OpAcquire, 2), []string{"C1 5 to 5.5 (6ms to 28ms) lapsed"}},
		"another's clock runs slow": {begin().skew("C2", 0.5).acquire("C1", 1, 50*ms).wait(50*ms).call("C2", history.OpAcquire, 2), []string{"C1 5 to 5.5 (6ms to 53ms) lapsed"}},
		// 45ms are left when the clock is set to run slow, and 90ms by it.
		"clock slows meanwhile": {begin().acquire("C1", 1, 50*ms).skew("C1", 0.5).wait(100*ms).call("C2", history.OpAcquire, 2), []string{"C1 3 to 5.5 (4ms to 96ms) lapsed"}},
		"declared over":         {begin().acquire("C1", 1, history.ValidityExpired), nil},
		"told to be over":       {begin().acquire("C1", 1, 50*ms).event(history.KindValid, "C1", history.ValidityExpired), []string{"C1 3 to 4 (4ms to 5ms) told"}},
		"shortened to over":     {begin().acquire("C1", 1, 50*ms).event(history.KindValid, "C1", ms), []string{"C1 3 to 4 (4ms to 5ms) lapsed"}},
		"prolonged": {
			begin().acquire("C1", 1, 20*ms).sets("C1", 0, "redis", set("C1", 50*ms), 100*ms).event(history.KindValid, "C1", 90*ms).wait(50*ms).call("C2", history.OpAcquire, 2),
			[]string{"C1 3 on"},
		},
		"begun anew by a renewal": {
			begin().acquire("C1", 1, 20*ms).wait(30*ms).call("C1", history.OpRenew, 2).ret("C1", history.OpRenew, 2, history.OK, 50*ms),
			[]string{"C1 3 to 3.5 (4ms to 21ms) lapsed", "C1 5 on"},
		},
		"renewal of nothing": {begin().call("C1", history.OpRenew, 2).ret("C1", history.OpRenew, 2, history.OK, 50*ms), nil},
		"taken again without a count": {
			begin().acquire("C1", 1, 0).acquire("C1", 2, 0).release("C1", 3, history.OK), []string{"C1 3 to 7 (4ms to 8ms) released"},
		},
		"reply dropped": { // the command that was not answered does not begin the validity
			begin().call("C1", history.OpAcquire, 1).add(history.Event{Kind: history.KindCommand, Client: "C1", ID: 1, Detail: &history.Detail{Command: &history.Command{
				Server: "redis", ReplyDropped: true, Changes: []history.Change{{Key: "k", After: set("C1", 100*ms)}},
			}}}).ret("C1", history.OpAcquire, 1, history.OK, 50*ms).wait(60*ms).call("C2", history.OpAcquire, 2),
			[]string{"C1 3 to 3.5 (4ms to 50ms) lapsed"},
		},
	}
	reentrant := func() *log {
		return new(log).open("C1", history.Detail{Lease: 100 * ms, Contract: history.Contract{Reentrant: true}})
	}
	tests["reentrant, released once"] = struct {
		log  *log
		want []string
	}{reentrant().acquire("C1", 1, 0).acquire("C1", 2, 0).release("C1", 3, history.OK), []string{"C1 3 on"}}
	tests["reentrant, released twice"] = struct {
		log  *log
		want []string
	}{reentrant().acquire("C1", 1, 0).acquire("C1", 2, 0).release("C1", 3, history.OK).release("C1", 4, history.OK), []string{"C1 3 to 9 (4ms to 10ms) released"}}
	tests["reentrant, told that it is not its own"] = struct {
		log  *log
		want []string
	}{reentrant().acquire("C1", 1, 0).acquire("C1", 2, 0).release("C1", 3, history.No), []string{"C1 3 to 8 (4ms to 9ms) told"}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, h := range timeline.Of(tt.log.events).Holds {
				assert.Equal(t, "k", h.Lock)
				got = append(got, h.Client+" "+span(h.Span)+ends[h.End])
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// A hold says until when it lasts by its client's clock, as often as that changes.
func TestHoldsSayUntilWhen(t *testing.T) {
	l := new(log).open("C1", history.Detail{Lease: 100 * ms}).open("C2", history.Detail{Lease: 100 * ms}).acquire("C1", 1, 80*ms)
	first := len(l.events) - 1
	l.call("C1", history.OpRenew, 2).command("C1", 2, "redis", history.State{Type: "string", Value: "of C1", TTL: 90 * ms}, history.State{Type: "string", Value: "of C1", TTL: 100 * ms}).ret("C1", history.OpRenew, 2, history.OK, 90*ms)
	second := len(l.events) - 1
	l.release("C1", 3, history.OK).acquire("C2", 4, 0)
	holds := timeline.Of(l.events).Holds
	assert.Len(t, holds, 2)
	assert.Len(t, holds[0].Until, 2)
	assert.Equal(t, first, holds[0].Until[0].Event)
	assert.Equal(t, second, holds[0].Until[1].Event)
	assert.Greater(t, holds[0].Until[1].Ends, holds[0].Until[0].Ends)
	assert.Equal(t, []timeline.Validity{{Event: len(l.events) - 1, Ends: timeline.Never}}, holds[1].Until, "none was declared")
}

func TestOperations(t *testing.T) {
	l := begin().open("C2", history.Detail{}).
		call("C1", history.OpAcquire, 1).sets("C1", 1, "redis", history.State{}, 100*ms).sets("C1", 1, "redis", set("C1", 99*ms), 100*ms).
		call("C2", history.OpAcquire, 2).
		add(history.Event{Kind: history.KindReturn, Client: "C1", Op: history.OpAcquire, ID: 1, Outcome: history.Unknown, Detail: &history.Detail{GaveUp: true}}).
		command("C1", 1, "redis", set("C1", 99*ms), set("C1", 98*ms)). // late
		command("C1", 0, "redis", set("C1", 99*ms), set("C1", 98*ms)). // of no operation
		event(history.KindExit, "C2", 0).
		call("C1", history.OpWork, 3).
		add(history.Event{Kind: history.KindCommand, Client: "C1", ID: 3, Detail: &history.Detail{Command: &history.Command{Server: history.Resource, Args: []string{"GET", "n"}}}})
	all := timeline.Of(l.events)
	assert.Equal(t, []string{"C1", "C2"}, all.Clients)
	assert.Equal(t, []string{"redis", history.Resource}, all.Servers)
	var got []string
	for _, o := range all.Operations {
		assert.Equal(t, "k", o.Lock)
		got = append(got, fmt.Sprintf("%s %v #%d %s: %v, gave up %v, commands %v", o.Client, o.Op, o.ID, span(o.Span), o.Outcome, o.GaveUp, o.Commands))
	}
	assert.Equal(t, []string{
		"C1 acquire #1 2 to 6 (3ms to 7ms): unknown, gave up true, commands [3 4 7]",
		"C2 acquire #2 5 to 9 (6ms to 10ms): unknown, gave up false, commands []",
		"C1 work #3 10 on: unknown, gave up false, commands [11]",
	}, got)
}

func TestClientsAreInOrder(t *testing.T) {
	l := new(log)
	for _, client := range []string{"C10", "C2", "C1.b", "C1"} {
		l.open(client, history.Detail{})
	}
	l.add(history.Event{Kind: history.KindFault, Client: "redis", Detail: &history.Detail{Fault: &history.Fault{Name: "restart", Target: "redis"}}})
	assert.Equal(t, []string{"C1", "C1.b", "C2", "C10"}, timeline.Of(l.events).Clients)
}

func TestKeys(t *testing.T) {
	absent := history.State{}
	taken := func() *log { return begin().open("C2", history.Detail{Lease: 100 * ms}).acquire("C1", 1, 0) } // at event 3
	tests := map[string]struct {
		log  *log
		want []string
	}{
		"there":   {taken(), []string{"redis of C1, C1's, 3 on"}},
		"removed": {taken().command("C1", 0, "redis", set("C1", 90*ms), absent), []string{"redis of C1, C1's, 3 to 5 (4ms to 6ms)"}},
		"expired": {taken().wait(110*ms).command("C2", 0, "redis", absent, absent), []string{"redis of C1, C1's, 3 to 4.5 (4ms to 104ms) expired"}},
		"prolonged in time": {
			taken().wait(90*ms).sets("C1", 0, "redis", set("C1", 6*ms), 100*ms).wait(20*ms).command("C2", 0, "redis", set("C1", 80*ms), set("C1", 80*ms)),
			[]string{"redis of C1, C1's, 3 on"},
		},
		"made persistent": {
			taken().command("C1", 0, "redis", set("C1", 90*ms), set("C1", 0)).wait(time.Second).command("C2", 0, "redis", absent, absent),
			[]string{"redis of C1, C1's, 3 to 6 (4ms to 1.007s)"},
		},
		"overwritten, and not granted": {
			taken().call("C2", history.OpAcquire, 2).sets("C2", 2, "redis", set("C1", 95*ms), 100*ms).ret("C2", history.OpAcquire, 2, history.No, 0),
			[]string{"redis of C1, C1's, 3 to 6 (4ms to 7ms)", "redis of C2, C1's, 6 on"},
		},
		"overwritten, and granted": {
			taken().call("C2", history.OpAcquire, 2).sets("C2", 2, "redis", set("C1", 95*ms), 100*ms).ret("C2", history.OpAcquire, 2, history.OK, 0),
			[]string{"redis of C1, C1's, 3 to 6 (4ms to 7ms)", "redis of C2, C1's, 6 to 7 (7ms to 8ms)", "redis of C2, C2's, 7 on"},
		},
		"found":            {begin().command("C1", 0, "redis", set("X", 50*ms), set("X", 50*ms)), []string{"redis of X, nobody's, 1 on"}},
		"another was seen": {taken().command("C2", 0, "redis", set("X", 50*ms), set("X", 50*ms)), []string{"redis of C1, C1's, 3 to 5 (4ms to 6ms)", "redis of X, C1's, 5 on"}},
		"restarted":        {taken().fault("restart", "redis", history.PhaseEffective, ""), []string{"redis of C1, C1's, 3 to 5 (4ms to 6ms)"}},
		"another server restarted": {
			taken().fault("restart", "S2", history.PhaseEffective, ""), []string{"redis of C1, C1's, 3 on"},
		},
		"older lock came back": {
			taken().fault("restart", "redis", history.PhaseEffective, "").command("C2", 0, "redis", set("X", 50*ms), set("X", 50*ms)),
			[]string{"redis of C1, C1's, 3 to 5 (4ms to 6ms)", "redis of X, nobody's, 6 on"},
		},
		"server's clock jumped": { // nobody knows any more when it expires
			taken().fault("clock-jump", "redis", history.PhaseEffective, "").wait(time.Second).command("C2", 0, "redis", absent, absent),
			[]string{"redis of C1, C1's, 3 to 6 (4ms to 1.007s)"},
		},
		"of the resource": {
			begin().sets("C1", 0, history.Resource, absent, 0).sets("C2", 0, history.Resource, set("C1", 0), 0),
			[]string{"resource of C1, nobody's, 1 to 2 (2ms to 3ms)", "resource of C2, nobody's, 2 on"},
		},
		"on several servers": {
			new(log).open("C1", history.Detail{Lease: 100 * ms, Servers: 3}).call("C1", history.OpAcquire, 1).sets("C1", 1, "S1", absent, 100*ms).sets("C1", 1, "S2", absent, 100*ms),
			[]string{"S1 of C1, C1's, 2 on", "S2 of C1, C1's, 3 on"},
		},
		"on several servers, unexpectedly": { // nothing is concluded from one of them
			begin().acquire("C1", 1, 0).sets("C1", 0, "S2", absent, 100*ms),
			[]string{"redis of C1, C1's, 2 on", "S2 of C1, nobody's, 4 on"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, k := range timeline.Of(tt.log.events).Keys {
				assert.Equal(t, "k", k.Key)
				text := fmt.Sprintf("%s %s, %s's, %s", k.Server, k.Value, k.Owner, span(k.Span))
				if k.Expired {
					text += " expired"
				}
				got = append(got, strings.Replace(text, " 's", " nobody's", 1))
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestTouches(t *testing.T) {
	l := begin().acquire("C1", 1, 0).command("C2", 0, "redis", set("C1", 90*ms), history.State{})
	var got []string
	for _, touch := range timeline.Of(l.events).Touches {
		got = append(got, fmt.Sprintf("%d %s %s %d %q", touch.Event, touch.Server, touch.Key, touch.Effect, touch.Owner))
	}
	assert.Equal(t, []string{
		fmt.Sprintf("2 redis k %d \"\"", history.EffectCreated), fmt.Sprintf("4 redis k %d \"C1\"", history.EffectRemoved),
	}, got)
}

func TestFaults(t *testing.T) {
	const inject, effective, recovered = history.PhaseInject, history.PhaseEffective, history.PhaseRecover
	tests := map[string]struct {
		log  *log
		want []string
	}{
		"pause":       {begin().fault("pause", "C1", inject, "").fault("pause", "C1", effective, "").fault("pause", "C1", recovered, ""), []string{"pause C1 1 to 3 (2ms to 4ms)"}},
		"no recovery": {begin().fault("pause", "C1", inject, "").fault("pause", "C1", effective, ""), []string{"pause C1 1 on"}},
		"two clients": {
			begin().fault("pause", "C1", inject, "").fault("pause", "C2", inject, "").fault("pause", "C1", recovered, ""),
			[]string{"pause C1 1 to 3 (2ms to 4ms)", "pause C2 2 on"},
		},
		"crash":      {begin().fault("crash", "C1", inject, "").fault("crash", "C1", effective, ""), []string{"crash C1 1 on"}},
		"thread":     {begin().fault("thread-death", "C1", inject, "").fault("thread-death", "C1", effective, ""), []string{"thread-death C1 1 on"}},
		"operator":   {begin().fault("operator", "redis", inject, "").fault("operator", "redis", effective, ""), []string{"operator redis 1 to 2 (2ms to 3ms)"}},
		"old name":   {begin().fault("server-jump", "redis", inject, "").fault("server-jump", "redis", effective, ""), []string{"clock-jump redis 1 to 2 (2ms to 3ms)"}},
		"hold":       {begin().fault("hold", "C1", effective, "").fault("hold", "C1", recovered, ""), []string{"hold C1 1 to 2 (2ms to 3ms)"}},
		"duplicates": {begin().fault("duplicate", "C1", effective, "").fault("duplicate", "C1", effective, ""), []string{"duplicate C1 1 to 1 (2ms to 2ms)", "duplicate C1 2 to 2 (3ms to 3ms)"}},
		"reply lost": {begin().fault("reply-lost", "C1", effective, ""), []string{"reply-lost C1 1 to 1 (2ms to 2ms)"}},
		"link loses": {begin().fault("reply-lost", "C1", inject, "").fault("reply-lost", "C1", effective, ""), []string{"reply-lost C1 1 on"}},
		"seen twice": {begin().fault("pause", "C1", inject, "").fault("pause", "C1", effective, "").fault("pause", "C1", effective, ""), []string{"pause C1 1 on"}},
		"ordered twice": {
			begin().fault("pause", "C1", inject, "").fault("pause", "C1", inject, "").fault("pause", "C1", effective, ""), []string{"pause C1 1 on"},
		},
		"clock right again": {
			begin().fault("skew", "C1", inject, "offset 1s, rate 1").fault("skew", "C1", effective, "offset 1s, rate 1").
				fault("skew", "C1", inject, "offset 0s, rate 1").fault("skew", "C1", effective, "offset 0s, rate 1"),
			[]string{"skew C1 1 to 3 (2ms to 4ms)", "skew C1 3 to 4 (4ms to 5ms)"},
		},
		"stall": {
			begin().wait(10 * ms).add(history.Event{Kind: history.KindFault, Detail: &history.Detail{
				Value: int64(3 * ms), Bound: 5 * ms, Fault: &history.Fault{Name: "stall", Target: "machine", Phase: recovered},
			}}),
			[]string{"stall machine 0.5 to 0.5 (3ms to 8ms)"},
		},
		"recovery of nothing": {begin().fault("pause", "C1", recovered, ""), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range timeline.Of(tt.log.events).Faults {
				got = append(got, fmt.Sprintf("%s %s %s", f.Kind, f.Target, span(f.Span)))
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestFaultsHitClients(t *testing.T) {
	tests := map[string]struct {
		log  *log
		want string
	}{
		"a process":    {begin().fault("pause", "C1", history.PhaseInject, ""), "C1 C1.b"},
		"a link":       {begin().fault("reply-lost", "C1", history.PhaseInject, ""), "C1 C1.b"},
		"one request":  {begin().fault("reply-lost", "C1", history.PhaseEffective, ""), "C1"},
		"one thread":   {begin().fault("thread-death", "C1", history.PhaseInject, ""), "C1"},
		"one handle":   {begin().fault("hold", "C1.b", history.PhaseEffective, ""), "C1.b"},
		"another name": {begin().fault("pause", "C1.b", history.PhaseEffective, ""), "C1.b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			faults := timeline.Of(tt.log.events).Faults
			var hit []string
			for _, client := range []string{"C1", "C1.b", "C2"} {
				if faults[0].Hits(client) {
					hit = append(hit, client)
				}
			}
			assert.Equal(t, tt.want, strings.Join(hit, " "))
		})
	}
}

func TestEmptyHistory(t *testing.T) {
	assert.Empty(t, timeline.Of(nil).Operations)
}
