package tap

import (
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/resp"
)

// flight is one command on its way through the tap.
type flight struct {
	commands.Traits
	keys    []string // the watched ones that it names
	own     []string // the lab's that it names, at a server that others use
	queued  bool     // MULTI queues it
	silent  bool     // the server does not answer
	awaited int      // messages that are still to come in answer
	selects int      // the database that SELECT asks for
	db      int      // the database in which its keys are

	note        note
	breakpoints []*Armed
	raw         []byte // kept only if it will be sent again
	again       bool   // this is the duplicate
	turn        bool   // it has the turn
}

// note is what the history will have of a command.
type note struct {
	args   []string // nil: the command is not recorded
	op     history.Op
	id     int64
	late   bool // its operation had ended when it was sent
	sent   time.Duration
	asked  time.Duration   // when the first state probe was sent
	before []history.State // nil: the server was not asked, or did not answer
}

// event is the command in the history. c has what came of it.
func (n *note) event(client, lock string, at time.Duration, c history.Command) history.Event {
	var detail struct { // one allocation: there are many
		history.Detail
		command history.Command
	}
	c.Args, c.Sent, c.Late = n.args, n.sent, n.late
	detail.command, detail.Command = c, &detail.command
	return history.Event{Kind: history.KindCommand, At: at, Client: client, Lock: lock, Op: n.op, ID: n.id, Detail: &detail.Detail}
}

// isLate says whether the operation of the command is over, by the one that its client is in now.
func (n *note) isLate(now int64) bool { return n.id != 0 && now != n.id }

// describe begins the flight of a command that has arrived; unseen: it names a script that the server shall not know. The error says that the tap would
// have to keep too much for it.
func (s *session) describe(f *flight, request resp.Request, unseen bool) error {
	d := &s.dialect
	*f = flight{Traits: s.tap.commands.Find(request.Args), db: d.db}
	f.queued = d.queues(f.Name)
	f.awaited = s.expects(f, request.Args)
	f.silent = f.awaited == 0
	switch {
	case f.Name == "EXEC" && d.txn != nil:
		f.keys, f.Writes, f.Drops = slices.Compact(slices.Sorted(slices.Values(d.txn.keys))), d.txn.writes, d.txn.drops
		f.own = d.txn.own
		f.Unordered = d.txn.odd // its answer may not be one whole message
	case f.Name == "SELECT":
		f.selects = d.selected(request.Args)
	case f.Name == "PING" && len(request.Args) == 2:
		s.tap.seePing(request.Args[1])
	default:
		f.keys = f.WatchedKeys(request.Args, s.tap.cfg.Watch)
		s.tap.expiries.attend(f, request.Args)
	}
	if f.queued {
		f.Blocks = false
	}
	if len(f.keys) > 0 {
		f.note.args = commands.ClipArguments(request.Args)
		f.note.op, f.note.id = s.tap.cfg.Current(s.client)
		if !unseen { // the EVAL that follows counts
			f.breakpoints = s.tap.cfg.Breakpoints.take(s.tap.cfg.Server, s.client, f)
		}
	}
	if f.meets(faults.ActDuplicate) || f.meets(faults.ActHoldCopy) {
		if err := s.account.Take(len(request.Raw)); err != nil {
			return err
		}
		f.raw = slices.Clone(request.Raw)
	}
	return s.remember(f, request.Raw)
}

// expects is dialect.expects under the session's lock.
func (s *session) expects(f *flight, args [][]byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialect.expects(f, args)
}

// recorded says whether the command belongs in the history.
func (f *flight) recorded() bool { return f.note.args != nil }

// meets says whether a breakpoint with the action applies to the command.
func (f *flight) meets(action faults.Action) bool {
	return slices.ContainsFunc(f.breakpoints, func(t *Armed) bool { return t.point.Action == action })
}

// prepare probes the keys and takes the times, right before the command is sent. The flight has the turn unless it needs none.
func (s *session) prepare(f *flight) {
	s.beforeExpiry(f)
	if !f.recorded() {
		return
	}
	t := s.tap
	_, now := t.cfg.Current(s.client)
	n := &f.note
	n.late, n.before = n.isLate(now), nil
	if t.cfg.StateProbes && !s.named().astray && f.turn && !f.queued && !f.silent {
		n.asked = t.cfg.Since()
		// If the server does not answer, the command is recorded without states.
		n.before, _ = t.prober.states(f.db, f.keys)
		t.expiries.hide(f.keys, n.before)
	}
	n.sent = t.cfg.Since()
}

// record probes the keys again and writes the command into the history, with the turn and before the client has the reply.
func (s *session) record(f *flight, reply *resp.Reply) {
	t := s.tap
	event := f.note.event(s.client, f.keys[0], t.cfg.Since(), history.Command{
		Server:       s.named().server,
		Conn:         s.number,
		Again:        f.again,
		ReplyDropped: f.again || f.meets(faults.ActDropReply) || s.out.isMuted(),
	})
	if reply != nil {
		c := event.Detail.Command
		c.Reply = oneLine(*reply, t.cfg.Limits)
		c.Changes, c.Asked = s.changes(f)
	}
	t.cfg.Record(event)
}

func (s *session) changes(f *flight) ([]history.Change, time.Duration) {
	if f.note.before == nil {
		return nil, 0
	}
	after, err := s.tap.prober.states(f.db, f.keys)
	if err != nil {
		return nil, 0
	}
	s.tap.expiries.hide(f.keys, after)
	asked := s.tap.cfg.Since() - f.note.asked
	changes := make([]history.Change, len(f.keys))
	for i, key := range f.keys {
		changes[i] = history.Change{Key: key, Before: f.note.before[i], After: after[i]}
	}
	return changes, asked
}

// oneLine renders a reply for the history, which takes only the beginning of a long one.
func oneLine(reply resp.Reply, limits resp.Limits) string {
	if line, ok := reply.Line(); ok {
		return string(commands.AppendClipped(nil, line))
	}
	value, err := resp.ParseHead(reply.Raw, limits, commands.Shown, commands.Shown)
	if err != nil {
		return ""
	}
	return commands.Clip(value.String())
}
