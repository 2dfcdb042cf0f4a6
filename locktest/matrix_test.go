package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// TestMatrixInBubbles: the lab's own locks, through go-redis in a bubble, come to the verdicts that were reviewed for processes and sockets,
// wherever a bubble can play the scenario at all.
func TestMatrixInBubbles(t *testing.T) {
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	judged := 0
	for _, spec := range impls.All() {
		if spec.Needs == impls.NoServer {
			continue
		}
		if !slices.Contains([]string{"setpx-lua", "redisson-fair"}, spec.Name) && needs.Count(t, "scenarios with "+spec.Name, 0, len(scripts)) == 0 {
			continue
		}
		for _, script := range scripts {
			reviewed, ok := matrix.Lookup(script.Name, spec.Name)
			if !ok || reviewed.Kind == checker.NotApplicable {
				continue
			}
			t.Run(spec.Name+"/"+script.Name, func(t *testing.T) {
				subject := play.SubjectOf(spec)
				subject.Traits.Verbs = []string{"reconnect", "renew", "check"}
				world := bubbleWorld{t, &suite{blocked: map[string]int{}}, sim.OpenBubble(sim.Config{CellTimeout: cellTimeout}, ownLibrary(spec))}
				played, err := world.Play(context.Background(), subject, script, "")
				require.NoError(t, err)
				verdict := checker.Conclude(played.Events, checker.Options{})
				if verdict.Kind == checker.NotApplicable {
					t.Skip(verdict.Reason)
				}
				judged++
				assert.True(t, verdict.Same(reviewed), "in a bubble %v, reviewed %v", verdict, reviewed)
			})
		}
	}
	if least := 1385; needs.Full() {
		assert.GreaterOrEqual(t, judged, least, "docs/locktest.md names this number")
	}
}

// ownLibrary is a lock of the lab as a library.
func ownLibrary(spec impls.Spec) sim.Library {
	shared := &sharedState{values: map[string]map[string]any{}}
	return sim.Library{
		Name: "lock", Settle: synctest.Wait, Linger: time.Minute,
		Open: func(access sim.Access) (impls.Lock, func(), error) {
			ctx, cancel := context.WithCancel(context.Background())
			var clients []*redis.Client
			for _, addr := range access.Addrs {
				clients = append(clients, NewRedis(addr, access.Dial, spec.Resends))
			}
			env := &ownEnv{ctx: ctx, began: time.Now(), access: access, shared: shared}
			for _, client := range clients {
				env.servers = append(env.servers, ownServer{client, spec.Resends})
			}
			lock := spec.New(env, impls.Options{Key: access.Name, Lease: access.Lease})
			return lock, func() {
				cancel()
				for _, client := range clients {
					_ = client.Close()
				}
			}, nil
		},
	}
}

type sharedState struct {
	mu     sync.Mutex
	values map[string]map[string]any // by process
}

type ownEnv struct {
	ctx     context.Context
	began   time.Time
	access  sim.Access
	servers []impls.Server
	shared  *sharedState
}

func (e *ownEnv) Server() impls.Server     { return e.servers[0] }
func (e *ownEnv) Servers() []impls.Server  { return e.servers }
func (e *ownEnv) Session() impls.Session   { return nil }
func (e *ownEnv) Now() time.Time           { return time.Now() }
func (e *ownEnv) Monotonic() time.Duration { return time.Since(e.began) }
func (e *ownEnv) Token() string            { return rand.Text() }
func (e *ownEnv) Object() string           { return history.ObjectOf(e.access.Client) }
func (e *ownEnv) Thread() string           { return history.ThreadOf(e.access.Client) }
func (e *ownEnv) Lost(why string)          { e.access.Lost(why) }
func (e *ownEnv) Renewed(d time.Duration)  { e.access.Renewed(d) }

func (e *ownEnv) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

func (e *ownEnv) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	stop := context.AfterFunc(e.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (e *ownEnv) Go(fn func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() { cancel(); <-done }
}

func (e *ownEnv) Shared(key string, fresh func() any) any {
	e.shared.mu.Lock()
	defer e.shared.mu.Unlock()
	process := history.ProcessOf(e.access.Client)
	if e.shared.values[process] == nil {
		e.shared.values[process] = map[string]any{}
	}
	value, ok := e.shared.values[process][key]
	if !ok {
		value = fresh()
		e.shared.values[process][key] = value
	}
	return value
}

type ownServer struct {
	rdb     *redis.Client
	resends bool // so an error reply says nothing about earlier tries
}

func (s ownServer) Do(ctx context.Context, args ...any) (any, error) {
	return ownReply(false, s.resends)(s.rdb.Do(ctx, args...).Result())
}

func ownReply(script, resends bool) func(any, error) (any, error) {
	return func(reply any, err error) (any, error) {
		var refusal redis.Error
		switch {
		case errors.Is(err, redis.Nil):
			return nil, nil
		case errors.As(err, &refusal) && !resends:
			return nil, impls.ErrorReply(refusal.Error(), script)
		}
		return reply, err
	}
}

func (s ownServer) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	return ownReply(true, s.resends)(redis.NewScript(script.Source).Run(ctx, s.rdb, keys, args...).Result())
}

func (s ownServer) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { return fn(ownTx{tx}) }, keys...)
}

type ownTx struct{ tx *redis.Tx }

func (t ownTx) Do(ctx context.Context, args ...any) (any, error) {
	return ownReply(false, false)(t.tx.Do(ctx, args...).Result())
}

func (t ownTx) Exec(ctx context.Context, commands ...impls.Command) ([]any, bool, error) {
	var cmds []*redis.Cmd
	_, err := t.tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, command := range commands {
			cmds = append(cmds, p.Do(ctx, command...))
		}
		return nil
	})
	if errors.Is(err, redis.TxFailedErr) {
		return nil, false, nil
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, false, err
	}
	var replies []any
	for _, cmd := range cmds {
		reply, err := ownReply(false, false)(cmd.Result())
		if err != nil {
			return nil, false, err
		}
		replies = append(replies, reply)
	}
	return replies, true, nil
}

func (s ownServer) Subscribe(ctx context.Context, channel string) (impls.Subscription, error) {
	sub := s.rdb.Subscribe(ctx, channel)
	if _, err := sub.Receive(ctx); err != nil {
		_ = sub.Close()
		return nil, err
	}
	return ownSubscription{sub}, nil
}

type ownSubscription struct{ sub *redis.PubSub }

func (s ownSubscription) Receive(ctx context.Context) (string, error) {
	message, err := s.sub.ReceiveMessage(ctx)
	if err != nil {
		return "", err
	}
	return message.Payload, nil
}

func (s ownSubscription) Close() { _ = s.sub.Close() }
