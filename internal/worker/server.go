package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// poolSize is only a limit: connections are made on demand. It is high because go-redis, after as many failed dials, refuses to dial for up
// to a second, which would delay locks after a partition.
const poolSize = 100

// server is a Redis server, and connections to it.
type server interface {
	impls.Server
	addr() string
	ping(ctx context.Context) error
	reconnect(ctx context.Context) error
	close() error
}

// redisServer is one that is reached through go-redis. Nothing that another package sees names it: the library's types have hundreds of methods
// for a compiler to go through, each time that they are seen.
type redisServer struct {
	options func() *redis.Options // anew for each client: go-redis fills them in
	rdb     atomic.Pointer[connection]
	// resends: the library resends commands, so an error reply says nothing about earlier tries.
	resends bool
	running sync.WaitGroup // commands, including cancelled ones
}

// newServer connects to a server with all time-outs at the given length and without retries: errors are reported at once, and no time-out
// fires by accident.
func newServer(addr string, db int, timeout time.Duration) *redisServer {
	return dial(false, func() *redis.Options {
		return &redis.Options{
			Addr: addr, DB: db,
			MaxRetries:            -1,
			DialerRetries:         1,
			DialTimeout:           timeout,
			ReadTimeout:           timeout,
			WriteTimeout:          timeout,
			PoolTimeout:           timeout,
			PoolSize:              poolSize,
			ContextTimeoutEnabled: true,
		}
	})
}

// newResendingServer connects to a server with the library's defaults.
func newResendingServer(addr string, db int) *redisServer {
	return dial(true, func() *redis.Options { return &redis.Options{Addr: addr, DB: db} })
}

func dial(resends bool, options func() *redis.Options) *redisServer {
	s := &redisServer{options: options, resends: resends}
	s.rdb.Store(s.newClient())
	return s
}

func (s *redisServer) newClient() *connection {
	var made connection
	if addr, is, _ := protocol.ParseCluster(s.addr()); is {
		made = newClustered(addr, s.options(), s.resends)
	} else {
		made = single{redis.NewClient(quiet(s.options()))}
	}
	return &made
}

// conn is the client in use.
func (s *redisServer) conn() connection { return *s.rdb.Load() }

// quiet switches off the commands that the library itself sends when it connects.
func quiet(opts *redis.Options) *redis.Options {
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return opts
}

func (s *redisServer) addr() string { return s.options().Addr }

// ping makes the first connection.
func (s *redisServer) ping(ctx context.Context) error {
	_, err := await(ctx, &s.running, func() (any, error) {
		node, err := s.conn().node(ctx)
		if err != nil {
			return nil, err
		}
		return nil, node.Ping(ctx).Err()
	})
	return err
}

// reconnect replaces all connections. Commands on the old ones end with an error. A resending library reconnects by itself, and must not be
// interrupted between two tries.
func (s *redisServer) reconnect(ctx context.Context) error {
	if s.resends {
		return s.ping(ctx)
	}
	old := s.rdb.Swap(s.newClient())
	if err := (*old).Close(); err != nil {
		return err
	}
	return s.ping(ctx)
}

// Do sends a command. It returns as soon as ctx ends: go-redis itself honours deadlines, but not cancellation. The command keeps its
// connection until its reply or its time-out.
func (s *redisServer) Do(ctx context.Context, args ...any) (any, error) {
	return s.send(ctx, false, args)
}

// Eval runs a script: EVALSHA first, then EVAL if the server does not know it.
func (s *redisServer) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	tail := []any{len(keys)}
	for _, key := range keys {
		tail = append(tail, key)
	}
	tail = append(tail, args...)

	reply, err := s.send(ctx, true, append([]any{"EVALSHA", script.SHA()}, tail...))
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return s.send(ctx, true, append([]any{"EVAL", script.Source}, tail...))
	}
	return reply, err
}

// close ends all connections, and with them the commands that wait on them.
func (s *redisServer) close() error {
	err := s.conn().Close()
	s.running.Wait()
	return err
}

func (s *redisServer) send(ctx context.Context, script bool, args []any) (any, error) {
	reply, err := await(ctx, &s.running, func() (any, error) { return s.conn().Do(ctx, args...).Result() })
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return s.read(reply, err, script)
}

// await returns the result of send, or the context's error as soon as ctx ends, even if both come at once. send then runs on, and counts as
// running until it has ended.
func await(ctx context.Context, running *sync.WaitGroup, send func() (any, error)) (any, error) {
	type answer struct {
		reply any
		err   error
	}
	answered := make(chan answer, 1)
	running.Go(func() {
		reply, err := send()
		answered <- answer{reply, err}
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-answered:
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return a.reply, a.err
	}
}

// read converts a reply of go-redis to the types of impls.Server.
func (s *redisServer) read(reply any, err error, script bool) (any, error) {
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	var refusal redis.Error
	if errors.As(err, &refusal) && !s.resends {
		return nil, impls.ErrorReply(refusal.Error(), script)
	}
	if err != nil {
		return nil, err
	}
	return normalise(reply)
}

// normalise converts the types of RESP3 to those of RESP2.
func normalise(reply any) (any, error) {
	switch v := reply.(type) {
	case nil, string, int64:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case *big.Int:
		return v.String(), nil
	case error: // a command within a transaction failed, others did not
		return nil, fmt.Errorf("an element of the reply is an error: %w", errors.New(v.Error()))
	case []any:
		return normaliseAll(v)
	case map[any]any:
		return normaliseMap(v)
	}
	return nil, fmt.Errorf("the server answered with a %T", reply)
}

func normaliseAll(elements []any) (any, error) {
	list := make([]any, len(elements))
	for i, element := range elements {
		normal, err := normalise(element)
		if err != nil {
			return nil, err
		}
		list[i] = normal
	}
	return list, nil
}

// normaliseMap lists keys and values alternately, sorted by key, because go-redis loses the server's order.
func normaliseMap(entries map[any]any) (any, error) {
	pairs := make([][]any, 0, len(entries))
	for key, value := range entries {
		pair, err := normaliseAll([]any{key, value})
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair.([]any))
	}
	slices.SortFunc(pairs, func(a, b []any) int { return cmp.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
	return slices.Concat(pairs...), nil
}
