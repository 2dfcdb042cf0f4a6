package reproduce

import (
	"slices"

	"github.com/locklab/locklab/history"
)

// overdue is a history in which commands belong to the operations that sent them, and whether that makes a difference. On record is the operation that was
// in flight when a command arrived. A client that has given one up in a partition is in the next by then, over a new connection, and what the old one
// carried arrives late. Of a client that goes on over its old connection, nothing is overdue.
func overdue(events []history.Event) (mended []history.Event, found bool) {
	type link struct{ client, server string }
	newest := map[link]int64{} // of all connections
	for i := range events {
		if c := events[i].Command(); c != nil {
			at := link{events[i].Client, c.Server}
			newest[at] = max(newest[at], c.Conn)
		}
	}
	links := map[link]int64{}            // the latest connection
	begun := map[int64]bool{}            // operations of which something has arrived
	unsent := map[string]history.Event{} // by client: the first since then that was given up with nothing of it arrived
	late := map[int64]history.Event{}    // by connection: whose commands it carries
	mended = slices.Clone(events)
	for i := range mended {
		e := &mended[i]
		if _, earlier := unsent[e.Client]; e.Kind == history.KindReturn && e.Detail != nil && e.Detail.GaveUp && !begun[e.ID] && !earlier {
			unsent[e.Client] = *e
		}
		c := e.Command()
		if c == nil {
			continue
		}
		at := link{e.Client, c.Server}
		if given, isGiven := unsent[e.Client]; isGiven && e.ID != given.ID && links[at] == c.Conn && c.Conn < newest[at] {
			late[c.Conn] = given
			delete(unsent, e.Client)
		}
		if given, isLate := late[c.Conn]; isLate {
			found = true
			command := *c
			command.Late = true
			*e = history.Event{
				At: e.At, Kind: e.Kind, Client: e.Client, Lock: e.Lock, Op: given.Op, ID: given.ID, Detail: &history.Detail{Command: &command},
			}
			continue
		}
		links[at], begun[e.ID] = c.Conn, true
		delete(unsent, e.Client)
	}
	return mended, found
}
