package worker

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// env is a lock's Env on a real server.
type env struct {
	ctx     context.Context // ends when the lock is closed
	servers []impls.Server  // one at least, unless there is a session
	session impls.Session   // nil: the lock servers are no ZooKeeper
	clock   *clock
	handle  string
	object  string
	thread  string
	say     func(protocol.Message)
	shared  *shared
	tasks   sync.WaitGroup
	errands errands // those of the tasks

	mu sync.Mutex
	// acquiring: notices wait for the answer to the acquire; otherwise a hold could end before it began.
	acquiring bool
	kept      []protocol.Message
}

func (e *env) Server() impls.Server { return e.servers[0] }

func (e *env) Servers() []impls.Server { return e.servers }

func (e *env) Session() impls.Session { return e.session }

func (e *env) Now() time.Time { return e.clock.now() }

func (e *env) Monotonic() time.Duration { return e.clock.monotonic() }

// leastLate is by how much a sleep must be late for the lab to be told. It is below a quarter of every scenario's lease.
const leastLate = 25 * time.Millisecond

// Sleep tells the lab if it was late: a renewal that comes too late because the host stalled is not the lock's fault.
func (e *env) Sleep(ctx context.Context, d time.Duration) error {
	d = e.clock.real(d)
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	defer resting(ctx)()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		if late := time.Since(began) - d; late > leastLate {
			e.say(protocol.Message{LateMS: protocol.MS(late)})
		}
		return ctx.Err()
	}
}

func (e *env) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, e.clock.real(d))
	unhook := context.AfterFunc(e.ctx, cancel)
	return ctx, func() {
		unhook()
		cancel()
	}
}

func (e *env) Token() string { return rand.Text() }

func (e *env) Go(fn func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(e.errands.within(e.ctx))
	done := make(chan struct{})
	e.errands.begin()
	e.tasks.Go(func() {
		defer close(done)
		defer e.errands.end()
		fn(ctx)
	})
	return func() {
		cancel()
		<-done
	}
}

func (e *env) Shared(key string, make func() any) any { return e.shared.of(key, make) }

func (e *env) Object() string { return e.object }

func (e *env) Thread() string { return e.thread }

func (e *env) Lost(why string) {
	e.tell(protocol.Message{Lost: e.handle, Why: why})
}

func (e *env) Renewed(d time.Duration) {
	e.tell(protocol.Message{Valid: e.handle, ValidMS: remaining(d)})
}

// tell writes a notice, or keeps it until the acquire in flight has been answered.
func (e *env) tell(notice protocol.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.acquiring {
		e.kept = append(e.kept, notice)
		return
	}
	e.say(notice)
}

// beginAcquire holds notices from now on.
func (e *env) beginAcquire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.acquiring = true
}

// endAcquire writes the answer to the acquire, then the held notices.
func (e *env) endAcquire(answer func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.acquiring = false
	answer()
	for _, notice := range e.kept {
		e.say(notice)
	}
	e.kept = nil
}

// shared is the state that the locks of one process share.
type shared struct {
	mu     sync.Mutex
	values map[string]any
}

func (s *shared) of(key string, make func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found := s.values[key]
	if !found {
		value = make()
		s.values[key] = value
	}
	return value
}

// remaining is a validity as the protocol declares it: never negative.
func remaining(d time.Duration) *float64 {
	ms := max(protocol.MS(d), 0)
	return &ms
}
