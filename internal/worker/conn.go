package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/impls"
)

// Watch reserves a connection of the pool for fn.
func (s *redisServer) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	node, err := s.conn().node(ctx)
	if err != nil {
		return err
	}
	err = s.watch(ctx, node, keys, fn)
	if node := s.conn().moved(ctx, err); node != nil {
		return s.watch(ctx, node, keys, fn)
	}
	return err
}

func (s *redisServer) watch(ctx context.Context, node *redis.Client, keys []string, fn func(impls.Tx) error) error {
	conn := node.Conn()
	tx := &tx{server: s, conn: conn}
	defer tx.end(ctx)
	if len(keys) == 0 {
		return fn(tx)
	}
	watch := []any{"WATCH"}
	for _, key := range keys {
		watch = append(watch, key)
	}
	if _, err := tx.Do(ctx, watch...); err != nil {
		return err
	}
	return fn(tx)
}

// tx is a connection of its own.
type tx struct {
	server   *redisServer
	conn     *redis.Conn
	executed bool
	running  sync.WaitGroup // commands, including cancelled ones
}

// end sends UNWATCH if needed, and returns the connection once all commands have been answered, including cancelled ones.
func (t *tx) end(ctx context.Context) {
	if !t.executed {
		_, _ = t.wait(ctx, func() (any, error) { return t.conn.Do(context.WithoutCancel(ctx), "UNWATCH").Result() })
	}
	if ctx.Err() == nil {
		_ = t.conn.Close()
		return
	}
	t.server.running.Go(func() {
		t.running.Wait()
		_ = t.conn.Close()
	})
}

func (t *tx) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := t.wait(ctx, func() (any, error) { return t.conn.Do(ctx, args...).Result() })
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return t.server.read(reply, err, false)
}

// Exec pipelines the transaction, as client libraries do.
func (t *tx) Exec(ctx context.Context, commands ...impls.Command) (replies []any, done bool, _ error) {
	t.executed = true
	reply, err := t.wait(ctx, func() (any, error) {
		results, err := t.conn.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, command := range commands {
				pipe.Do(ctx, command...)
			}
			return nil
		})
		return results, err
	})
	switch {
	case errors.Is(err, redis.TxFailedErr):
		return nil, false, nil
	case err != nil && ctx.Err() != nil:
		return nil, false, err
	case err != nil && !errors.Is(err, redis.Nil):
		_, err = t.server.read(nil, err, true) // a command may have failed while others were carried out
		return nil, false, err
	}
	for _, result := range reply.([]redis.Cmder) {
		one, err := result.(*redis.Cmd).Result()
		if one, err = t.server.read(one, err, true); err != nil {
			return nil, false, err
		}
		replies = append(replies, one)
	}
	return replies, true, nil
}

// wait sends on the connection and returns as soon as ctx ends, also while the reply is outstanding.
func (t *tx) wait(ctx context.Context, send func() (any, error)) (any, error) {
	return await(ctx, &t.running, send)
}

// Subscribe makes a connection of its own. If that breaks, the subscription is over, so that the waiter learns that it may have missed
// messages.
func (s *redisServer) Subscribe(ctx context.Context, channel string) (impls.Subscription, error) {
	pubsub := s.conn().Subscribe(context.WithoutCancel(ctx))
	sub := &subscription{pubsub: pubsub, messages: make(chan string, 1), over: make(chan struct{})}
	sub.running = &s.running
	confirmed := make(chan struct{})
	s.running.Go(func() { sub.run(channel, confirmed) })
	select {
	case <-confirmed:
		return sub, nil
	case <-sub.over:
		return nil, sub.err
	case <-ctx.Done():
		sub.Close()
		return nil, ctx.Err()
	}
}

// subscription passes on the messages of a channel.
type subscription struct {
	pubsub   *redis.PubSub
	running  *sync.WaitGroup // of the server
	messages chan string     // holds one: a second wake-up adds nothing
	over     chan struct{}
	err      error // valid once over is closed
}

func (s *subscription) run(channel string, confirmed chan<- struct{}) {
	defer close(s.over)
	defer func() { _ = s.pubsub.Close() }()
	ctx := context.Background() // Close ends what runs
	if s.err = s.pubsub.Subscribe(ctx, channel); s.err != nil {
		return
	}
	for {
		received, err := s.pubsub.Receive(ctx)
		if err != nil {
			s.err = fmt.Errorf("the subscription has ended: %w", err)
			return
		}
		switch message := received.(type) {
		case *redis.Subscription:
			close(confirmed)
		case *redis.Message:
			select {
			case s.messages <- message.Payload:
			default:
			}
		}
	}
}

func (s *subscription) Receive(ctx context.Context) (string, error) {
	select {
	case message := <-s.messages:
		return message, nil
	default:
	}
	defer resting(ctx)()
	select {
	case message := <-s.messages:
		return message, nil
	case <-s.over:
		return "", s.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Close does not wait: the library may be about to dial.
func (s *subscription) Close() {
	s.running.Go(func() { _ = s.pubsub.Close() })
}
