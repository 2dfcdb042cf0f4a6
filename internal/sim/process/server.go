package process

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/service"
)

// resendings is how often a client library that is left at its defaults sends a command again.
const resendings = 3

// server is a server as a lock of the process sees it.
type server struct {
	process *Process
	handle  string // of its lock
	index   int
	resends bool
}

// ResourceOf is the protected resource as the process sees it, by the connections of one of its locks.
func (p *Process) ResourceOf(handle string) impls.Server {
	return server{process: p, handle: handle, index: Resource}
}

func (s server) Do(ctx context.Context, args ...any) (any, error) {
	command, err := Words(args)
	if err != nil {
		return nil, err
	}
	return s.one(ctx, 0, false, command)
}

func (s server) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	rest, err := Words(args)
	if err != nil {
		return nil, err
	}
	tail := append(append([]string{strconv.Itoa(len(keys))}, keys...), rest...)
	if !s.process.sources {
		reply, err := s.one(ctx, 0, true, append([]string{"EVALSHA", script.SHA()}, tail...))
		if err == nil || !strings.HasPrefix(err.Error(), "NOSCRIPT") {
			return reply, err
		}
	}
	return s.one(ctx, 0, true, append([]string{"EVAL", script.Source}, tail...))
}

func (s server) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	tx := &tx{server: s, conn: s.process.connect()}
	defer tx.end(ctx)
	if len(keys) == 0 {
		return fn(tx)
	}
	if _, err := s.one(ctx, tx.conn, false, append([]string{"WATCH"}, keys...)); err != nil {
		return err
	}
	return fn(tx)
}

func (s server) Subscribe(ctx context.Context, channel string) (impls.Subscription, error) {
	conn := s.process.connect()
	if _, err := s.one(ctx, conn, false, []string{"SUBSCRIBE", channel}); err != nil {
		s.hangUp(conn)
		return nil, err
	}
	return &subscription{server: s, conn: conn}, nil
}

// one sends a command and reads its reply.
func (s server) one(ctx context.Context, conn int, script bool, command []string) (any, error) {
	replies, err := s.send(ctx, conn, command)
	if err != nil {
		return nil, err
	}
	return s.read(replies[0], script)
}

// send sends commands in a row and waits for the replies. A library that sends again does so where it lost them.
func (s server) send(ctx context.Context, conn int, commands ...[]string) ([]service.Reply, error) {
	for sent := 0; ; sent++ {
		in, err := s.process.await(ctx, Wait{Kind: Request, Handle: s.handle, Commands: commands, Server: s.index, Conn: conn})
		switch {
		case err != nil:
			return nil, err
		case !in.Lost:
			return in.Replies, nil
		case !s.resends || conn != 0 || sent == resendings:
			return nil, errLost
		}
	}
}

// read puts a reply into the terms of impls.Server. Where commands are sent again, an error reply says nothing about the tries
// before.
func (s server) read(r service.Reply, script bool) (any, error) {
	if r.Kind == service.Error && s.resends {
		return nil, errors.New(r.Text)
	}
	return Value(r, script)
}

// Value is a reply in the terms of impls.Server; script: it is the reply to a script, or part of one.
func Value(r service.Reply, script bool) (any, error) {
	switch r.Kind {
	case service.Error:
		return nil, impls.ErrorReply(r.Text, script)
	case service.Integer:
		return r.Int, nil
	case service.Status, service.Bulk:
		return r.Text, nil
	case service.Array:
		list := make([]any, len(r.List))
		for i, element := range r.List {
			value, err := Value(element, true)
			if err != nil {
				return nil, fmt.Errorf("an element of the reply is an error: %w", err)
			}
			list[i] = value
		}
		return list, nil
	}
	return nil, nil
}

// connect takes a connection of one's own: the lowest number that is free.
func (p *Process) connect() int {
	for n := 1; ; n++ {
		if !p.conns[n] {
			p.conns[n] = true
			return n
		}
	}
}

func (s server) hangUp(conn int) {
	delete(s.process.conns, conn)
	s.process.say(Notice{Kind: Hangup, Handle: s.handle, Server: s.index, Conn: conn})
}

// tx is a connection that watches keys.
type tx struct {
	server   server
	conn     int
	executed bool
}

// end ends the watch. An operation that has been given up does not wait for that.
func (t *tx) end(ctx context.Context) {
	if !t.executed && ctx.Err() == nil {
		_, _ = t.server.one(context.WithoutCancel(ctx), t.conn, false, []string{"UNWATCH"})
	}
	t.server.hangUp(t.conn)
}

func (t *tx) Do(ctx context.Context, args ...any) (any, error) {
	command, err := Words(args)
	if err != nil {
		return nil, err
	}
	return t.server.one(ctx, t.conn, false, command)
}

func (t *tx) Exec(ctx context.Context, commands ...impls.Command) (replies []any, done bool, err error) {
	t.executed = true
	row := [][]string{{"MULTI"}}
	for _, command := range commands {
		one, err := Words(command)
		if err != nil {
			return nil, false, err
		}
		row = append(row, one)
	}
	answers, err := t.server.send(ctx, t.conn, append(row, []string{"EXEC"})...)
	if err != nil {
		return nil, false, err
	}
	value, err := t.server.read(answers[len(answers)-1], true)
	replies, done = value.([]any) // nil: a watched key has changed
	return replies, done, err
}

// subscription receives what is published on one channel.
type subscription struct {
	server server
	conn   int
	closed bool
}

func (s *subscription) Receive(ctx context.Context) (string, error) {
	in, err := s.server.process.await(ctx, Wait{Kind: Message, Handle: s.server.handle, Server: s.server.index, Conn: s.conn})
	if err == nil && in.Lost {
		err = errLost
	}
	return in.Message, err
}

func (s *subscription) Close() {
	if !s.closed {
		s.closed = true
		s.server.hangUp(s.conn)
	}
}
