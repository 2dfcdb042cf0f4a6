package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// resource is the protected resource as a client in a bubble sees it. The lab's own code uses it, under the library's lock.
type resource struct {
	guest  *guest
	handle *handle
}

// call is one or several commands in a row, and a goroutine that waits for their replies.
type call struct {
	resource
	conn    int
	words   [][]string
	replies chan []service.Reply // has room for one; closed: nothing will come back
}

var errNoReply = errors.New("the connection to the resource has ended")

// send sends commands and waits for their replies. A call that is given up leaves its commands under way.
func (r resource) send(ctx context.Context, conn int, words ...[]string) ([]service.Reply, error) {
	c := &call{resource: r, conn: conn, words: words, replies: make(chan []service.Reply, 1)}
	r.guest.mu.Lock()
	r.guest.asked = append(r.guest.asked, c)
	r.guest.mu.Unlock()
	r.guest.act()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case replies, ok := <-c.replies:
		if !ok {
			return nil, errNoReply
		}
		return replies, nil
	}
}

// send is the part of the script's goroutine.
func (c *call) send() {
	l := c.handle.resourceLink
	l.send(c.guest.cell, &packet{
		from: c.handle, server: l.server, link: l, to: c, conn: l.conn(c.guest.cell, c.conn), commands: c.words, start: l.server.starts,
	})
}

func (c *call) answered(replies []service.Reply) { c.guest.hand(func() { c.replies <- replies }) }

func (c *call) lost() { c.guest.hand(func() { close(c.replies) }) }

func (r resource) Do(ctx context.Context, args ...any) (any, error) {
	return r.one(ctx, pooled, false, words(args))
}

func (r resource) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	command := append([]string{"EVAL", script.Source, fmt.Sprint(len(keys))}, keys...)
	return r.one(ctx, pooled, true, append(command, words(args)...))
}

func (r resource) one(ctx context.Context, conn int, script bool, words []string) (any, error) {
	replies, err := r.send(ctx, conn, words)
	if err != nil {
		return nil, err
	}
	return process.Value(replies[0], script)
}

// Watch has a connection to itself, which is hung up with the client.
func (r resource) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	tx := transaction{r, int(r.guest.watches.Add(1))}
	if len(keys) > 0 {
		if _, err := r.one(ctx, tx.conn, false, append([]string{"WATCH"}, keys...)); err != nil {
			return err
		}
	}
	return fn(tx)
}

// Subscribe is nothing that work needs.
func (r resource) Subscribe(context.Context, string) (impls.Subscription, error) {
	return nil, errors.ErrUnsupported
}

// transaction is a connection that watches keys.
type transaction struct {
	resource
	conn int
}

func (t transaction) Do(ctx context.Context, args ...any) (any, error) {
	return t.one(ctx, t.conn, false, words(args))
}

func (t transaction) Exec(ctx context.Context, commands ...impls.Command) (replies []any, done bool, err error) {
	row := [][]string{{"MULTI"}}
	for _, command := range commands {
		row = append(row, words(command))
	}
	answers, err := t.send(ctx, t.conn, append(row, []string{"EXEC"})...)
	if err != nil {
		return nil, false, err
	}
	value, err := process.Value(answers[len(answers)-1], true)
	list, done := value.([]any)
	return list, done, err
}
