package report

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// timeline is a history prepared for telling: who held what, who was disturbed, and whose the keys were, all by position. The
// position of an event is its index; a moment that no event marks, such as the end of a lease, lies halfway between two.
type timeline struct {
	events           []history.Event
	clients, servers []string
	holds            []span // lane: client
	operations       []span // lane: client
	faults           []span // lane: client or server
	keys             []span // lane: server; a key's life under one value
	moments          []moment
	notes            []string // by event: what a command did to the keys
}

// span is something that lasts.
type span struct {
	Lane     string
	From, To float64
	Label    string
	Owner    string // of a key: the client that set the value
	Key      string
	Open     bool // it had not ended when the history did
}

// moment is something that happened without an event: time ran out.
type moment struct {
	Pos  float64
	At   time.Duration
	Lane string
	Text string
}

func newTimeline(events []history.Event) *timeline {
	b := &timelineBuilder{
		t:       &timeline{events: events, notes: make([]string, len(events))},
		holds:   make(map[holdKey]openHold),
		calls:   make(map[int64]int),
		faults:  make(map[faultKey]int),
		keys:    make(map[serverKey]openKey),
		locks:   make(map[string]bool),
		clients: make(map[string]bool),
	}
	b.lanes()
	for i := range events {
		b.step(i)
	}
	b.finish()
	return b.t
}

type holdKey struct{ client, lock string }

type openHold struct {
	from  int
	until time.Duration // end of the declared validity; zero if none was declared
}

func (k holdKey) String() string { return k.client + "\x00" + k.lock }

type faultKey struct{ name, lane string }

func (k faultKey) String() string { return k.name + "\x00" + k.lane }

type serverKey struct{ server, key string }

type openKey struct {
	from    int
	state   history.State
	owner   string
	expires time.Duration // zero: never, or not known
}

type timelineBuilder struct {
	t       *timeline
	holds   map[holdKey]openHold
	calls   map[int64]int
	faults  map[faultKey]int
	keys    map[serverKey]openKey
	locks   map[string]bool // keys that are locks, not resources
	clients map[string]bool
}

// lanes finds who takes part: clients by name, servers in order of appearance.
func (b *timelineBuilder) lanes() {
	for _, e := range b.t.events {
		if e.Client != "" && e.Kind != history.KindFault && !b.clients[e.Client] { // a fault may name a server there
			b.clients[e.Client] = true
			b.t.clients = append(b.t.clients, e.Client)
		}
		if e.Lock != "" && e.Kind != history.KindFinal {
			b.locks[e.Lock] = true
		}
		if c := commandOf(e); c != nil && !slices.Contains(b.t.servers, c.Server) {
			b.t.servers = append(b.t.servers, c.Server)
		}
	}
	slices.SortFunc(b.t.clients, func(x, y string) int {
		p, q := history.ProcessOf(x), history.ProcessOf(y)
		return cmp.Or(len(p)-len(q), cmp.Compare(p, q), cmp.Compare(x, y)) // C1, C1.b, C2, C10
	})
}

func commandOf(e history.Event) *history.Command {
	if e.Kind != history.KindCommand || e.Detail == nil {
		return nil
	}
	return e.Detail.Command
}

func faultOf(e history.Event) *history.Fault {
	if e.Kind != history.KindFault || e.Detail == nil {
		return nil
	}
	return e.Detail.Fault
}

func (b *timelineBuilder) step(i int) {
	e := b.t.events[i]
	key := holdKey{e.Client, e.Lock}
	switch e.Kind {
	case history.KindCall:
		b.calls[e.ID] = i
		if e.Op == history.OpRelease {
			b.endHold(key, i)
		}
	case history.KindReturn:
		b.operation(i, false)
		b.endHeldUp(e.Client, i)
		b.returned(key, i)
	case history.KindValid:
		b.prolong(key, e)
	case history.KindLost:
		b.endHold(key, i)
	case history.KindExit:
		b.exit(e.Client, i)
	case history.KindCommand:
		b.command(i)
	case history.KindFault:
		b.fault(i)
	}
}

func (b *timelineBuilder) operation(i int, open bool) {
	e := b.t.events[i]
	from, ok := b.calls[e.ID]
	if !ok {
		return
	}
	delete(b.calls, e.ID)
	b.t.operations = append(b.t.operations, span{Lane: e.Client, From: float64(from), To: float64(i), Label: e.Op.String(), Open: open})
}

func (b *timelineBuilder) returned(key holdKey, i int) {
	e := b.t.events[i]
	switch {
	case e.Outcome != history.OK:
	case e.Op == history.OpAcquire:
		if _, held := b.holds[key]; !held {
			b.holds[key] = openHold{from: i}
		}
		b.prolong(key, e)
	case e.Op == history.OpRenew:
		b.prolong(key, e)
	}
}

func (b *timelineBuilder) prolong(key holdKey, e history.Event) {
	hold, held := b.holds[key]
	if !held || e.Valid <= 0 || (hold.until > 0 && hold.until < e.At) {
		return
	}
	hold.until = e.At + e.Valid
	b.holds[key] = hold
}

func (b *timelineBuilder) endHold(key holdKey, i int) {
	hold, held := b.holds[key]
	if !held {
		return
	}
	delete(b.holds, key)
	s := span{Lane: key.client, From: float64(hold.from), To: float64(i), Label: "holds", Key: key.lock, Open: i >= len(b.t.events)}
	if hold.until > 0 && hold.until < b.at(i) {
		s.To, s.Open = b.t.between(hold.until), false
		b.t.moments = append(b.t.moments, moment{s.To, hold.until, key.client, "its hold is over by its own account"})
	}
	b.t.holds = append(b.t.holds, s)
}

// at is the time of event i, or of the end of the history.
func (b *timelineBuilder) at(i int) time.Duration {
	if len(b.t.events) == 0 {
		return 0
	}
	return b.t.events[min(i, len(b.t.events)-1)].At
}

func (b *timelineBuilder) exit(client string, i int) {
	for _, key := range sortedKeys(b.holds, holdKey.String) {
		if key.client == client {
			b.endHold(key, i)
		}
	}
}

func (b *timelineBuilder) fault(i int) {
	f := faultOf(b.t.events[i])
	if f == nil {
		return
	}
	key := faultKey{f.Name, b.t.laneOf(b.t.events[i])}
	_, on := b.faults[key]
	kind := faults.Kind(f.Name)
	lasts := !kind.OnServer() // what a crash has ended stays so; a server goes on
	switch {
	case f.Phase == history.PhaseRecover && on:
		b.endFault(key, i)
	case f.Phase == history.PhaseInject && !on && lasts,
		f.Phase == history.PhaseEffective && !on && kind.Holds():
		b.faults[key] = i
	case f.Phase == history.PhaseEffective && !lasts:
		b.serverFault(i, f)
	}
}

func (b *timelineBuilder) endFault(key faultKey, i int) {
	s := span{Lane: key.lane, From: float64(b.faults[key]), To: float64(i), Label: key.name, Open: i >= len(b.t.events)}
	delete(b.faults, key)
	b.t.faults = append(b.t.faults, s)
	if f := faultOf(b.t.events[int(s.From)]); f.Phase != history.PhaseInject || faults.Kind(f.Name) == faults.ThreadDeath {
		return // a breakpoint's, or the end of a thread: of this client alone
	}
	for _, client := range b.t.clients {
		if client != key.lane && history.ProcessOf(client) == key.lane {
			s.Lane = client
			b.t.faults = append(b.t.faults, s)
		}
	}
}

// endHeldUp ends what a breakpoint held up: the operation has returned, or the held request has arrived without it.
func (b *timelineBuilder) endHeldUp(client string, i int) {
	for _, key := range sortedKeys(b.faults, faultKey.String) {
		if key.lane == client && faults.Kind(key.name).Holds() {
			b.endFault(key, i)
		}
	}
}

// laneOf is the client or server that an event happened to; empty if it is neither.
func (t *timeline) laneOf(e history.Event) string {
	f := faultOf(e)
	switch {
	case f != nil && (slices.Contains(t.clients, f.Target) || slices.Contains(t.servers, f.Target)):
		return f.Target
	case e.Kind == history.KindFinal && slices.Contains(t.servers, history.Resource):
		return history.Resource
	}
	return e.Client
}

// serverFault forgets what is no longer so after a restart, or no longer known after a jump of the server's clock.
func (b *timelineBuilder) serverFault(i int, f *history.Fault) {
	for _, key := range sortedKeys(b.keys, serverKey.String) {
		if key.server != f.Target {
			continue
		}
		switch faults.Kind(f.Name) {
		case faults.Restart:
			b.endKey(key, i)
		case faults.ClockJump:
			k := b.keys[key]
			k.expires = 0
			b.keys[key] = k
		}
	}
}

// between is the position of a moment that no event marks.
func (t *timeline) between(at time.Duration) float64 {
	after := sort.Search(len(t.events), func(i int) bool { return t.events[i].At > at })
	return float64(after) - 0.5
}

func (b *timelineBuilder) finish() {
	end := len(b.t.events)
	for _, key := range sortedKeys(b.holds, holdKey.String) {
		b.endHold(key, end)
	}
	for _, key := range sortedKeys(b.keys, serverKey.String) {
		b.endKey(key, end)
	}
	for _, id := range sortedKeys(b.calls, func(id int64) string { return fmt.Sprintf("%020d", id) }) {
		from := b.calls[id]
		e := b.t.events[from]
		b.t.operations = append(b.t.operations, span{Lane: e.Client, From: float64(from), To: float64(end), Label: e.Op.String(), Open: true})
	}
	for _, key := range sortedKeys(b.faults, faultKey.String) {
		b.endFault(key, end)
	}
	slices.SortStableFunc(b.t.moments, func(x, y moment) int { return cmp.Compare(x.At, y.At) })
}

// sortedKeys are the keys of a map in an order that does not change from run to run.
func sortedKeys[K comparable, V any](m map[K]V, name func(K) string) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y K) int { return cmp.Compare(name(x), name(y)) })
	return keys
}
