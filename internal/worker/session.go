package worker

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/internal/worker/work"
)

// defaultTimeout is the time-out of reads, writes and dials if init names none.
const defaultTimeout = 30 * time.Second

// session is a client between init and exit. One goroutine calls its methods; operations have goroutines of their own.
type session struct {
	ctx    context.Context
	cancel context.CancelFunc
	out    *output
	specs  []impls.Spec
	// program is the only lock of a program of its own, whatever name it is opened by; nil: specs are the lab's.
	program *impls.Spec
	clock   *clock

	init      *protocol.Request // nil before init
	timeout   time.Duration     // of reads, writes and dials
	servers   []server          // those of init, one at least
	resending server            // to the first; made when a lock with Resends is opened
	resource  server            // nil if init named none
	shared    *shared
	handles   map[string]*handle
	opened    []*handle // all of them, the closed ones too

	operations sync.WaitGroup
	mu         sync.Mutex
	pending    map[int64]context.CancelFunc // operations in flight, by id
}

func newSession(ctx context.Context, out *output, specs []impls.Spec, program *impls.Spec) *session {
	ctx, cancel := context.WithCancel(ctx)
	return &session{
		ctx: ctx, cancel: cancel, out: out, specs: specs, program: program,
		clock:   newClock(),
		shared:  &shared{values: make(map[string]any)},
		handles: make(map[string]*handle),
		pending: make(map[int64]context.CancelFunc),
	}
}

// end cancels all operations and tasks, and closes all connections.
func (s *session) end() {
	s.cancel()
	s.operations.Wait()
	for _, h := range s.opened {
		h.shut()
		h.links.close()
	}
	for _, server := range append(s.servers, s.resending, s.resource) {
		if server != nil {
			_ = server.close() // there is no request to answer
		}
	}
}

// serve answers a request, or starts its operation.
func (s *session) serve(req protocol.Request) {
	if s.init == nil && req.Do != protocol.Init {
		s.out.answer(req.ID, refused("init comes first"))
		return
	}
	switch req.Do {
	case protocol.Init:
		s.out.answer(req.ID, s.begin(req))
	case protocol.Open:
		s.out.answer(req.ID, s.open(req))
	case protocol.Skew:
		s.out.answer(req.ID, s.skew(req))
	case protocol.Reconnect:
		s.out.answer(req.ID, s.reconnect(req))
	case protocol.Cancel:
		s.out.answer(req.ID, s.giveUp(req))
	case protocol.Idle:
		s.idle(req)
	case protocol.Work:
		s.work(req)
	case protocol.Acquire, protocol.Release, protocol.Renew, protocol.Check, protocol.Close:
		s.operate(req)
	default:
		s.out.answer(req.ID, unsupported(fmt.Sprintf("unknown verb %q", req.Do)))
	}
}

// begin connects, so that no operation has to.
func (s *session) begin(req protocol.Request) protocol.Message {
	switch {
	case s.init != nil:
		return refused("init was asked before")
	case req.Version < protocol.Oldest || req.Version > protocol.Version:
		return refused(fmt.Sprintf("this client speaks versions %d to %d of the protocol, not %d", protocol.Oldest, protocol.Version, req.Version))
	case len(req.Servers) == 0:
		return refused("init names no server")
	}
	if s.program != nil {
		if err := checkService(*s.program, req.Servers[0]); err != nil {
			return refused(err.Error())
		}
	}
	s.timeout = defaultTimeout
	if req.TimeoutMS > 0 {
		s.timeout = protocol.Duration(req.TimeoutMS)
	}
	s.init = &req
	for _, addr := range req.Servers {
		if isKeeper(addr) || isService(addr) {
			continue // open connects: a session has the time-out of its lock
		}
		if _, _, err := protocol.ParseCluster(addr); err != nil {
			return refused(err.Error())
		}
		server := s.dial(addr)
		s.servers = append(s.servers, server)
		if err := server.ping(s.ctx); err != nil {
			return refused(fmt.Sprintf("server %s: %v", addr, err))
		}
	}
	if req.Resource != "" {
		s.resource = s.dial(req.Resource)
		if err := s.resource.ping(s.ctx); err != nil {
			return refused(fmt.Sprintf("resource %s: %v", req.Resource, err))
		}
	}
	answer := done()
	answer.Hello = &protocol.Hello{
		Version:   req.Version,
		Name:      "lab-worker",
		About:     about(),
		Verbs:     []string{protocol.Check, protocol.Skew, protocol.Reconnect, protocol.Idle, protocol.Reset},
		Workloads: work.Workloads(),
		Separate:  true,
	}
	if slices.ContainsFunc(s.specs, impls.Spec.CanRenew) {
		answer.Hello.Verbs = append(answer.Hello.Verbs, protocol.Renew)
	}
	if s.program != nil {
		introduce(answer.Hello, *s.program)
	}
	return answer
}

// introduce says what the card of a program's lock says. Its library may have clocks and background tasks of its own.
func introduce(hello *protocol.Hello, spec impls.Spec) {
	hello.Name, hello.Promises = spec.Name, impls.PromiseWordsOf(spec.Promises)
	hello.Verbs = []string{protocol.Reconnect}
	if spec.CanRenew() {
		hello.Verbs = append(hello.Verbs, protocol.Renew)
	}
	if spec.CanCheck() {
		hello.Verbs = append(hello.Verbs, protocol.Check)
	}
	hello.Contract, hello.Resends = spec.Declares(), protocol.ResendsIf(spec.Resends)
	hello.MinLeaseMS, hello.OneRequest = protocol.MS(spec.MinLease), spec.OneRequest
}

// about is the program's name and version, as far as the build knows it.
func about() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "lab worker " + info.Main.Version
	}
	return "lab worker"
}

func (s *session) open(req protocol.Request) protocol.Message {
	spec, found := impls.Lookup(s.specs, req.Lock)
	if s.program != nil {
		spec, found = *s.program, true
	}
	switch {
	case !found:
		return refused(fmt.Sprintf("unknown lock %q", req.Lock))
	case req.Handle == "" || req.Key == "":
		return refused("open names a handle and a key")
	case s.handles[req.Handle] != nil:
		return refused(fmt.Sprintf("handle %q is in use", req.Handle))
	case req.LeaseMS <= 0 && !spec.Leaseless:
		return refused("this lock needs a lease")
	}
	if err := checkService(spec, s.init.Servers[0]); err != nil {
		return refused(err.Error())
	}
	links, err := s.linksOf(req, spec)
	if err != nil {
		return refused(err.Error())
	}
	ctx, cancel := context.WithCancel(s.ctx)
	e := &env{ctx: ctx, servers: links.forLock(), clock: s.clock, handle: req.Handle, object: cmp.Or(req.Object, req.Handle), thread: cmp.Or(req.Thread, req.Handle), say: s.out.say, shared: s.shared}
	if links.keeper != nil {
		e.session = links.keeper
	}
	idle := make(chan struct{})
	close(idle)
	h := &handle{
		env:   e,
		lock:  spec.New(e, impls.Options{Key: req.Key, Lease: protocol.Duration(req.LeaseMS), Service: links.service}),
		close: cancel,
		links: links,
		last:  idle,
	}
	s.opened = append(s.opened, h)
	if err := h.connect(s.ctx); err != nil {
		return refused(err.Error())
	}
	s.handles[req.Handle] = h
	return done()
}

// serversOf are the client's connections for the lock.
func (s *session) serversOf(spec impls.Spec) ([]server, error) {
	if !spec.Resends {
		return s.servers, nil
	}
	if s.resending == nil {
		s.resending = newResendingServer(s.init.Servers[0], s.init.DB)
	}
	return []server{s.resending}, s.resending.ping(s.ctx)
}

func (s *session) skew(req protocol.Request) protocol.Message {
	rate := req.Rate
	if rate == 0 {
		rate = 1
	}
	s.clock.skew(protocol.Duration(req.OffsetMS), rate)
	return done()
}

// reconnect replaces the connections to the lock servers, or to those that the request names.
func (s *session) reconnect(req protocol.Request) protocol.Message {
	servers := append(slices.Clone(s.servers), s.resending)
	for _, h := range s.opened {
		if len(h.links.own) > 0 {
			servers = append(servers, h.links.servers...)
		}
	}
	for _, server := range servers {
		if server == nil || len(req.Servers) > 0 && !slices.Contains(req.Servers, server.addr()) {
			continue
		}
		if err := server.reconnect(s.ctx); err != nil {
			return refused(err.Error())
		}
	}
	for _, h := range s.opened {
		err := h.reconnectKeeper(s.ctx)
		if err == nil && s.handles[h.env.handle] == h {
			err = h.connect(s.ctx)
		}
		if err != nil {
			return refused(err.Error())
		}
	}
	return done()
}

// giveUp cancels an operation, which then returns with its outcome.
func (s *session) giveUp(req protocol.Request) protocol.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, found := s.pending[req.Op]
	if !found {
		return refused(fmt.Sprintf("operation %d is not under way", req.Op))
	}
	cancel()
	return done()
}

// idle answers when no background task of a lock has a reply to act on and, on a ZooKeeper, no operation.
func (s *session) idle(req protocol.Request) {
	h := s.handles[req.Handle]
	if h == nil {
		s.out.answer(req.ID, refused(fmt.Sprintf("handle %q is not open", req.Handle)))
		return
	}
	none := h.env.errands.none()
	s.operations.Go(func() {
		<-none // at the latest when the session ends, and the tasks with it
		s.out.answer(req.ID, done())
	})
}

// work starts work on the resource, in turn with the operations of its lock.
func (s *session) work(req protocol.Request) {
	h := s.handles[req.Handle]
	switch {
	case h == nil:
		s.out.answer(req.ID, refused(fmt.Sprintf("handle %q is not open", req.Handle)))
	case h.links.resource == nil:
		s.out.answer(req.ID, refused("init named no resource"))
	default:
		s.start(h, req, func(ctx context.Context, say func(protocol.Message)) {
			task := work.Task{Resource: h.links.resource, Shared: s.shared.of, Client: s.init.Client, Key: req.Key, Stock: req.Stock}
			say(protocol.Reply(task.Under(h.lock).Do(ctx, history.Workload(req.Workload))))
		})
	}
}

func (s *session) operate(req protocol.Request) {
	h := s.handles[req.Handle]
	if h == nil {
		s.out.answer(req.ID, refused(fmt.Sprintf("handle %q is not open", req.Handle)))
		return
	}
	if req.Do == protocol.Close {
		delete(s.handles, req.Handle)
	}
	s.start(h, req, func(ctx context.Context, say func(protocol.Message)) { h.perform(ctx, req, say) })
}

// start runs an operation in its turn, in a goroutine of its own. An operation cancelled before its turn is answered at once and never
// begins.
func (s *session) start(h *handle, req protocol.Request, run func(context.Context, func(protocol.Message))) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.pending[req.ID] = cancel
	s.mu.Unlock()

	say := func(answer protocol.Message) {
		s.mu.Lock()
		delete(s.pending, req.ID)
		s.mu.Unlock()
		s.out.answer(req.ID, answer)
	}
	before, after := h.turn()
	if h.links.keeper != nil { // its operations wait for watches
		ctx = h.env.errands.within(ctx)
		h.env.errands.begin()
	}
	s.operations.Go(func() {
		defer close(after)
		defer cancel()
		if h.links.keeper != nil {
			defer h.env.errands.end()
		}
		select {
		case <-before:
			run(ctx, say)
		case <-ctx.Done():
			say(protocol.Reply(answers.Settled(false, ctx.Err())))
			<-before
		}
	})
}
