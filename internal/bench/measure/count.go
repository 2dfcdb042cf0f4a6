package measure

import (
	"context"
	"sync/atomic"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker"
)

// counter counts the commands that go to servers: those of a transaction one by one, with MULTI and EXEC; a script as one, whatever it runs;
// each request to a ZooKeeper. What a client library sends when it connects, or to keep a session, is not counted.
type counter struct{ sent atomic.Int64 }

// wrap puts the counter before servers and sessions.
func (c *counter) wrap() worker.Wrap {
	return worker.Wrap{
		Server:  func(s impls.Server) impls.Server { return &counted{s, c} },
		Session: func(s impls.Session) impls.Session { return &countedSession{s, c} },
	}
}

type counted struct {
	impls.Server
	counter *counter
}

func (s *counted) Do(ctx context.Context, args ...any) (any, error) {
	s.counter.sent.Add(1)
	return s.Server.Do(ctx, args...)
}

func (s *counted) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	s.counter.sent.Add(1)
	return s.Server.Eval(ctx, script, keys, args...)
}

func (s *counted) Subscribe(ctx context.Context, channel string) (impls.Subscription, error) {
	s.counter.sent.Add(1)
	return s.Server.Subscribe(ctx, channel)
}

func (s *counted) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	if len(keys) > 0 {
		s.counter.sent.Add(1)
	}
	executed := false
	err := s.Server.Watch(ctx, keys, func(tx impls.Tx) error {
		return fn(&countedTx{tx, s.counter, &executed})
	})
	if !executed {
		s.counter.sent.Add(1) // UNWATCH
	}
	return err
}

type countedTx struct {
	impls.Tx
	counter  *counter
	executed *bool
}

func (t *countedTx) Do(ctx context.Context, args ...any) (any, error) {
	t.counter.sent.Add(1)
	return t.Tx.Do(ctx, args...)
}

func (t *countedTx) Exec(ctx context.Context, commands ...impls.Command) ([]any, bool, error) {
	*t.executed = true
	t.counter.sent.Add(int64(len(commands)) + 2)
	return t.Tx.Exec(ctx, commands...)
}

// countedSession is a session with a ZooKeeper.
type countedSession struct {
	impls.Session
	counter *counter
}

func (s *countedSession) Create(ctx context.Context, path string, sequential bool) (string, error) {
	s.counter.sent.Add(1)
	return s.Session.Create(ctx, path, sequential)
}

func (s *countedSession) Children(ctx context.Context, path string) ([]string, error) {
	s.counter.sent.Add(1)
	return s.Session.Children(ctx, path)
}

func (s *countedSession) Watch(ctx context.Context, path string) (bool, impls.Subscription, error) {
	s.counter.sent.Add(1)
	return s.Session.Watch(ctx, path)
}

func (s *countedSession) Delete(ctx context.Context, path string) error {
	s.counter.sent.Add(1)
	return s.Session.Delete(ctx, path)
}
