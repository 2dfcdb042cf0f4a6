package world

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/process"
)

// publication is a message that has been published, on its way to a client by the connection that has subscribed to it.
type publication struct {
	server, conn int
	text         string
}

// publish takes what a server has for its subscribers to their clients. A process that has crashed has no subscriptions.
func (w *world) publish(server int) {
	model := w.at(server).model
	for i := range w.clients {
		for conn := 1; conn < firstLate; conn++ {
			for m, there := model.Receive(connection(i, conn)); there; m, there = model.Receive(connection(i, conn)) {
				w.clients[i].inbox = append(w.clients[i].inbox, publication{server, conn, m.Text})
				w.others = true
			}
		}
	}
}

// unsubscribe ends what a client has subscribed to that has crashed.
func (w *world) unsubscribe(i int) {
	for server := range w.servers {
		model := w.change(server).model
		for conn := 1; conn < firstLate; conn++ {
			if !slices.ContainsFunc(w.clients[i].travel, func(m message) bool { return m.server == server && m.conn == conn }) {
				model.Close(connection(i, conn))
			}
		}
	}
}

// messageFor is the place of the oldest message that a task waits for; negative: there is none.
func (c *client) messageFor(wait *process.Wait) int {
	return slices.IndexFunc(c.inbox, func(m publication) bool {
		return wait.Kind == process.Message && m.server == wait.Server && m.conn == wait.Conn
	})
}

// take takes what has come for a task: the replies to its request, or a message.
func (c *client) take(task int) past.Input {
	if at := c.messageFor(c.at.Wait(task)); at >= 0 {
		in := past.Input{Kind: past.Published, Task: task, Text: c.inbox[at].text}
		c.inbox = slices.Delete(c.inbox, at, at+1)
		return in
	}
	in := past.Input{Kind: past.Reply, Task: task, Replies: c.answers[c.answer(task)].replies}
	c.torn.remove(task)
	c.drop(task)
	return in
}

// hears says whether a task that waits for a message has one to take, or learns that its connection has broken, or that its time is over.
func (c *client) hears(wait *process.Wait) bool {
	return wait.Kind == process.Message && (c.messageFor(wait) >= 0 || c.torn.has(wait.Task) || c.isBroken(wait.Task) || c.dueAt(wait.Task) <= 0)
}
