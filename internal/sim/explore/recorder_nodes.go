package explore

import (
	"path"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/trace"
)

// What a history has of a ZooKeeper that is no request of the lock's, as the tap writes it.

// contacted records a ping of the client that has the lock, and that a session is over.
func (r *recorder) contacted(i int, over bool) {
	lock, owner := r.x.servers.HeadOf(r.x.judge.s.servers[0])
	switch {
	case over:
		r.note(trace.Step{Kind: trace.Notice, Client: i, Text: "its session has expired; it gets another"})
	case owner == i:
		key := r.x.servers.LockKey
		r.command(i, history.OpNone, 0, &history.Command{Args: []string{"PING", key}, Reply: "OK", Changes: []history.Change{{Key: key, Before: lock, After: lock}}})
	}
}

// healed records the end of a partition.
func (r *recorder) healed(i int) {
	r.note(trace.Step{Kind: trace.Heal, Client: i})
	r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{
		Fault: &history.Fault{Name: string(faults.Partition), Target: trace.ClientName(i), Phase: history.PhaseRecover, What: "the client is cut off no more"},
	}})
}

// byServer records what the server did to a node: for FIRST, on behalf of the acquire that made it.
func (r *recorder) byServer(entry string, i int, node string, before, after history.State) {
	key := r.x.servers.LockKey
	c := &history.Command{Args: []string{entry, path.Join(key, node)}, Reply: "OK", Changes: []history.Change{{Key: key, Before: before, After: after}}}
	text := "the server removes its node " + node + " with its session"
	op, id := history.OpNone, int64(0)
	if entry == entryFirst {
		text = "its node " + node + " is the first"
		op, id = history.OpAcquire, r.made[node]
		c.Late = id != r.open[i]
	}
	r.command(i, op, id, c)
	r.note(trace.Step{Kind: trace.Notice, Client: i, Text: text})
}

func (r *recorder) command(i int, op history.Op, id int64, c *history.Command) {
	c.Server, c.Conn, c.Sent, c.Asked = r.serverName(0), int64(i*10+1), r.now, asked
	r.event(history.Event{
		Kind: history.KindCommand, Client: trace.ClientName(i), Lock: r.x.servers.LockKey, Op: op, ID: id, Detail: &history.Detail{Command: c},
	})
}

// keeperReply is a reply of a ZooKeeper as histories have it.
func keeperReply(name string, r service.Reply) string {
	switch {
	case name == "EXISTS" && r.Kind == service.Error:
		return "nil"
	case name == "CREATE", name == "GETCHILDREN", r.Kind == service.Error:
		return r.Recorded()
	}
	return "OK"
}

// wakes records the end of a sleep, or that a watched node has changed. That a session has ended is on record.
func (r *recorder) wakes(s *state, m move) {
	if r.x.automaton.Nodes[s.clients[m.client].node].Slots[m.slot].Kind != process.Contact {
		r.note(trace.Step{Kind: trace.Wake, Client: int(m.client), Beside: m.slot != 0})
	}
}
