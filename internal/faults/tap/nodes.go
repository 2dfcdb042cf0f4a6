package tap

import (
	"path"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/jute"
)

// The entries of a history that are no requests of a client: what a ZooKeeper does to a lock by itself.
const (
	// entryExpired: the server has removed the client's node, because its session has ended.
	entryExpired = "EXPIRED"
	// entryFirst: the client's node has become the first below the lock's, because the one before it is gone.
	entryFirst = "FIRST"
)

// leastSession is what is left of a session that the server has not ended though its time-out has passed: it ends at the next tick.
const leastSession = 10 * time.Millisecond

// node is a node below a lock's, and the request that made it. Its operation is the acquire that waits by it.
type node struct {
	client  string // empty: the tap has not seen who made it
	op      history.Op
	id      int64
	conn    int64
	session int64
}

// lockNodes are the nodes below one lock's.
type lockNodes struct {
	jute.Contenders[node] // whose lock it is is as the history has it
	// ended is the session of the latest holder whose node has gone with it; zero: none.
	ended int64
}

// sessionLife is what is known of a session.
type sessionLife struct {
	timeout time.Duration
	heard   time.Duration // when the server last got something of it, by the clock of the run
}

// nodes follows whose the locks on a ZooKeeper are. A lock's state is the first node below the lock's: the one with the smallest number, or
// the only one. All requests pass the tap one at a time, so a node that is gone without a request has gone with its session. All but the
// sessions belong to the holder of the turn.
type nodes struct {
	tap    *Tap
	locks  map[string]*lockNodes
	prober nodeProber
	kept   kept

	mu       sync.Mutex
	sessions map[int64]sessionLife
}

func newNodes(t *Tap) *nodes {
	n := &nodes{
		tap: t, locks: map[string]*lockNodes{}, sessions: map[int64]sessionLife{},
		prober: nodeProber{life: t.ctx, addrs: t.cfg.Members, alone: t.cfg.Members == nil},
	}
	if n.prober.alone {
		n.prober.addrs = func() []string { return []string{t.cfg.Upstream} }
	}
	return n
}

// open takes in that the server has answered a handshake. The error says that there are too many sessions: each is remembered beyond its connection.
func (n *nodes) open(session jute.Connect, at time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if session.Session == 0 {
		return nil
	}
	if _, known := n.sessions[session.Session]; !known {
		if err := n.tap.cfg.Limits.Held.Take(nameCost); err != nil {
			return err
		}
	}
	n.sessions[session.Session] = sessionLife{timeout: session.Timeout, heard: at}
	return nil
}

// hear takes in that the server gets something of a session.
func (n *nodes) hear(session int64, at time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if life, known := n.sessions[session]; known {
		life.heard = at
		n.sessions[session] = life
	}
}

// left is how long a session lasts if its client is heard no more.
func (n *nodes) left(session int64, at time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	life, known := n.sessions[session]
	if !known {
		return 0
	}
	return max(leastSession, life.heard+life.timeout-at)
}

// keys are the locks that a request is about: the node that it names is a lock's, or below one. The end of a session is about all locks.
func (n *nodes) keys(request jute.Request) []string {
	watch := n.tap.cfg.Watch
	if request.Op == jute.OpClose {
		return n.tap.cfg.Locks
	}
	switch {
	case request.Path == "":
		return nil
	case watch(request.Path):
		return []string{request.Path}
	case watch(path.Dir(request.Path)):
		return []string{path.Dir(request.Path)}
	}
	return nil
}

// prolonged are the locks that a session has.
func (n *nodes) prolonged(session int64) []string {
	var keys []string
	for _, key := range n.tap.cfg.Locks {
		l := n.lock(key)
		if whose, known := l.Known[l.Head]; known && whose.session == session {
			keys = append(keys, key)
		}
	}
	return keys
}

// deprived are the locks that a session had when it ended.
func (n *nodes) deprived(session int64) []string {
	var keys []string
	for _, key := range n.tap.cfg.Locks {
		if ended := n.lock(key).ended; ended != 0 && ended == session {
			keys = append(keys, key)
		}
	}
	return keys
}

// isolated says whether a server of an ensemble is cut off from those that serve.
func (n *nodes) isolated(server string) bool {
	return n.tap.cfg.Members != nil && !slices.Contains(n.tap.cfg.Members(), server)
}

func (n *nodes) lock(key string) *lockNodes {
	l := n.locks[key]
	if l == nil {
		l = &lockNodes{Contenders: jute.Contenders[node]{Known: map[string]node{}}}
		n.locks[key] = l
	}
	return l
}

// lookAtAll brings all locks up to what the server has.
func (n *nodes) lookAtAll() {
	for _, key := range n.tap.cfg.Locks {
		_ = n.look(key) // who uses the server next meets the same error
	}
}

// look brings a lock up to what the server has: what has gone meanwhile has gone with its session.
func (n *nodes) look(key string) error {
	names, err := n.prober.children(key)
	if err != nil {
		return err
	}
	n.lock(key).expire(n, key, names)
	n.settle([]string{key})
	return nil
}

// expire records that nodes have gone with their sessions.
func (l *lockNodes) expire(n *nodes, key string, names []string) {
	for _, name := range l.Gone(names) {
		was, whose := l.state(), l.Known[name]
		if name == l.Head {
			l.ended = whose.session
		}
		l.Remove(name)
		n.record(entryExpired, key, name, whose, 0, was, l.state())
	}
	for _, name := range names {
		if _, known := l.Known[name]; !known {
			l.Known[name] = node{}
		}
	}
}

// state is the state of the lock as the history has it.
func (l *lockNodes) state() history.State {
	if l.Head == "" {
		return history.State{}
	}
	value := l.Head
	if client := l.Known[l.Head].client; client != "" {
		value += " of " + client
	}
	return history.State{Type: "znode", Value: value}
}

// settle records that another node has become the first of a lock.
func (n *nodes) settle(keys []string) {
	for _, key := range keys {
		l := n.lock(key)
		if !l.Settle() {
			continue
		}
		if whose := l.Known[l.Head]; whose.client != "" {
			n.record(entryFirst, key, l.Head, whose, whose.id, history.State{}, l.state())
		}
	}
}

// record records what the server did by itself to the node of a client.
func (n *nodes) record(entry, key, name string, whose node, id int64, before, after history.State) {
	if whose.client == "" {
		return
	}
	t := n.tap
	now := t.cfg.Since()
	_, current := t.cfg.Current(whose.client)
	c := &history.Command{Server: t.cfg.Server, Conn: whose.conn, Args: []string{entry, path.Join(key, name)}, Reply: "OK", Sent: now}
	c.Late = id != 0 && current != id
	if t.cfg.StateProbes {
		c.Changes = []history.Change{{Key: key, Before: before, After: after}}
	}
	e := history.Event{Kind: history.KindCommand, At: now, Client: whose.client, Lock: key, Detail: &history.Detail{Command: c}}
	if id != 0 {
		e.Op, e.ID = whose.op, id
	}
	t.cfg.Record(e)
}

// lookBefore brings the locks that a request is about up to what the server has, before the request is sent.
func (n *nodes) lookBefore(f *flight) {
	f.note.before = nil
	for _, key := range f.keys {
		if n.look(key) != nil {
			return // without states, as during a restart
		}
	}
	for _, key := range f.keys {
		f.note.before = append(f.note.before, n.lock(key).state())
	}
}

// lookAfter takes in what a request did to its locks. mine is the node that it would have made.
func (n *nodes) lookAfter(f *flight, request jute.Request, r result, mine node) []history.Change {
	var changes []history.Change
	for i, key := range f.keys {
		l := n.lock(key)
		names, err := n.prober.children(key)
		if err != nil {
			f.note.before = nil
		}
		// A session may have ended since the look before, and the client was told so. A server that lags does not list what is new.
		if r.listed && request.Path == key && f.note.before != nil {
			l.expire(n, key, slices.Concat(r.names, names))
			n.settle([]string{key})
			f.note.before[i] = l.state()
		}
		l.apply(request, r, names, mine)
		if request.Watch && request.Path != key && mine.op == history.OpAcquire {
			l.adopt(mine, path.Base(request.Path))
		}
		if f.note.before != nil && n.tap.cfg.StateProbes {
			changes = append(changes, history.Change{Key: key, Before: f.note.before[i], After: l.state()})
		}
	}
	return changes
}

// apply takes in a request. Where its reply is missing, what is there afterwards says whether it was carried out.
func (l *lockNodes) apply(request jute.Request, r result, names []string, mine node) {
	unanswered := r.text == ""
	switch name := path.Base(request.Path); {
	case request.Op == jute.OpClose:
		for name, whose := range l.Known {
			if whose.session == mine.session && !slices.Contains(names, name) {
				l.Remove(name)
			}
		}
	case request.Op.Name() == "DELETE" && (r.done || unanswered && !slices.Contains(names, name)):
		l.Remove(name)
	case request.Op.Name() == "CREATE" && r.done:
		l.Add(path.Base(r.created), mine)
	case request.Op.Name() == "CREATE" && unanswered:
		for _, name := range names {
			if _, known := l.Known[name]; !known {
				l.Add(name, mine)
			}
		}
	}
}

// adopt takes in that an acquire waits for another node to go. If it has made none, it waits by one that an earlier acquire of its client has left.
func (l *lockNodes) adopt(mine node, watched string) {
	var left []string
	for name, whose := range l.Known {
		switch {
		case whose.client != mine.client:
		case whose.id == mine.id || name == watched:
			return
		default:
			left = append(left, name)
		}
	}
	for _, name := range left {
		whose := l.Known[name]
		whose.op, whose.id = mine.op, mine.id
		l.Known[name] = whose
	}
}

// state reads the state of a lock, with how long its owner's session lasts at least.
func (n *nodes) state(key string) (history.State, error) {
	if err := n.look(key); err != nil {
		return history.State{}, err
	}
	l := n.lock(key)
	s := l.state()
	if s.Exists() {
		s.TTL = n.left(l.Known[l.Head].session, n.tap.cfg.Since())
	}
	return s, nil
}
