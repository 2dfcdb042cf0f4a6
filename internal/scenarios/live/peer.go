package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/live/clients"
	"github.com/locklab/locklab/internal/scenarios/live/stalls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// MainHandle is the name under which a process opens its first lock; further ones go by their names in the script.
const MainHandle = "lock"

// exitTime is how long a client may take to exit by itself before it is killed.
const exitTime = 2 * time.Second

// peer is a client's operating system process with the links of its handles. It belongs to the client's goroutine, except that Heard runs
// in the reader of the process's output.
type peer struct {
	client *play.Client
	cell   *cell
	links  wiring

	worker  *clients.Worker // nil before start, and after putBack
	hello   protocol.Hello
	outside bool   // its clock is set from outside
	noClock string // why it cannot be set
	paused  bool

	mu      sync.Mutex
	asked   map[int64]*play.Operation // operations sent, by number
	resumed time.Time                 // when the lab last continued the process
	cuts    cuts

	recorded atomic.Int64           // commands on all links, and notices
	took     atomic.Int64           // when a server last gave it the lock, in nanoseconds of the cell; of a storm
	taker    atomic.Pointer[string] // the handle to which it did

	moments chan storm.Moment // to a storm that waits for this client

	parted  chan struct{} // closed when the process goes back to the pool
	watched sync.WaitGroup
	early   error // it ended before it was told to, or broke the protocol
	ending  error // what went wrong when the process was ended
}

func newPeer(c *cell, client *play.Client) *peer {
	return &peer{
		client: client, cell: c, links: wiring{client, c.run, map[*play.Handle]*links{}}, asked: make(map[int64]*play.Operation), moments: make(chan storm.Moment),
		parted: make(chan struct{}),
	}
}

// notice tells a waiting storm that the client has reached a moment.
func (p *peer) notice(m storm.Moment) {
	select {
	case p.moments <- m:
	default:
	}
}

// begin starts the process, and has it open its locks.
func (p *peer) begin(ctx context.Context) error {
	if err := p.start(ctx); err != nil {
		return err
	}
	return p.openAll(ctx)
}

// start starts the process, or takes one from the pool, and has it say hello.
func (p *peer) start(ctx context.Context) error {
	for _, h := range p.client.Handles {
		l, err := p.cell.connect(ctx, h.Name)
		p.links.of[h] = l
		if err != nil {
			return err
		}
	}
	w, err := p.cell.world.pool.Take(p.argv(), p)
	if err != nil {
		return p.notStarted(err)
	}
	p.worker = w
	p.watched.Go(p.watch)
	return p.introduce(ctx)
}

// notStarted is how a cell ends whose client cannot be started: that is a failure of the lab, unless the program is not the lab's and the machine
// is not at its limits.
func (p *peer) notStarted(err error) error {
	what := fmt.Errorf("client %s could not be started: %w", p.client.Name, err)
	limits := []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM}
	if !p.foreign() || slices.ContainsFunc(limits, func(limit error) bool { return errors.Is(err, limit) }) {
		return what
	}
	return play.Undecided("%v", what)
}

// foreign says whether the process runs a program that is not the lab's.
func (p *peer) foreign() bool { return p.cell.subject.Argv != nil }

// argv is the command that runs the process.
func (p *peer) argv() []string {
	if p.foreign() {
		return p.cell.subject.Argv
	}
	return p.cell.world.cfg.Worker
}

// StderrPath is where the process's standard error is kept.
func (p *peer) StderrPath() string { return filepath.Join(p.cell.dir, p.client.Name+".stderr") }

// watch waits for the end of the process's output. An end without an order ends its holds, and the cell.
func (p *peer) watch() {
	select {
	case <-p.worker.Conn.Done():
	case <-p.parted:
		return
	}
	if p.doomed() || p.cell.run.Over() {
		return
	}
	why := p.gone()
	p.client.Exited(why.Error())
	p.cell.spoil(why)
}

// doomed says whether the process was killed by order, or is about to be.
func (p *peer) doomed() bool { return p.client.Crashed() }

// requestName is the name of a lock in requests to its process.
func requestName(h *play.Handle) string {
	if h == h.Client.Handles[0] {
		return MainHandle
	}
	return h.Name
}

// ask sends a request that is no operation of the history and waits for its answer.
func (p *peer) ask(ctx context.Context, req protocol.Request) (protocol.Message, error) {
	req.ID = p.cell.run.NextID()
	reply, err := p.send(req)
	if err != nil {
		return protocol.Message{}, p.gone()
	}
	select {
	case msg, ok := <-reply:
		if !ok {
			return protocol.Message{}, p.gone()
		}
		if msg.Unsupported {
			return msg, unsupported(p.client.Name, req.Do)
		}
		return msg, nil
	case <-ctx.Done():
		return protocol.Message{}, play.Undecided("%s did not answer %s: %v", p.client.Name, req.Do, context.Cause(ctx))
	}
}

// gone says why a client's connection ended. That concerns the client and is not a failure of the lab.
func (p *peer) gone() error { return play.Undecided("%s", p.departure()) }

func (p *peer) departure() string {
	how := p.worker.Conn.Err()
	if how == nil || errors.Is(how, protocol.ErrGone) {
		how = p.fate()
	}
	return fmt.Sprintf("%s: %v%s", p.client.Name, how, p.worker.Stderr)
}

// fate is how the process ended. Its output ends a little earlier, and its standard error a little later.
func (p *peer) fate() error {
	patience := time.After(exitTime)
	select {
	case <-p.worker.Proc.Done():
	case <-patience:
		return errors.New("client has closed its standard output, and is " + p.worker.Proc.State())
	}
	select {
	case <-p.worker.Stderr.Done:
	case <-patience:
	}
	return errors.New("client exited before replying: " + p.worker.Proc.State())
}

// Heard records the messages of a process in their order, before the script's goroutine acts on them.
func (p *peer) Heard(msg protocol.Message) {
	defer p.cell.stage.notify()
	if msg.ID == 0 && !p.cell.admit(p) {
		return
	}
	switch {
	case msg.Lost != "":
		if h := named(p.client, msg.Lost); h != nil {
			h.NoticeLoss(msg.Hold, msg.Why)
		}
	case msg.Valid != "" && msg.ValidMS != nil:
		if h := named(p.client, msg.Valid); h != nil {
			h.NoticeValidity(protocol.Duration(*msg.ValidMS))
		}
	case msg.LateMS > 0:
		p.wasLate(time.Now(), protocol.Duration(msg.LateMS))
	case msg.ID != 0:
		p.cuts.answered(msg, &p.links)
		p.mu.Lock()
		op := p.asked[msg.ID]
		delete(p.asked, msg.ID)
		p.mu.Unlock()
		if op != nil { // else it answers init, open and the like
			op.Return(msg.Answer())
		}
	}
}

// wasLate takes in that the client's sleep has ended late just now. What was the lab's own pause is no stall.
func (p *peer) wasLate(now time.Time, late time.Duration) {
	due := now.Add(-late)
	p.mu.Lock()
	paused := p.resumed.After(due)
	p.mu.Unlock()
	if paused {
		return
	}
	if p.cell.memory.held.Take(stallCost) != nil {
		p.cell.fill()
		return
	}
	p.cell.stage.late.Delayed(now.Sub(due))
	p.cell.stage.late.Add(stalls.Stall{From: due, To: now})
}

// named is a client's handle by its name in requests; nil: it is one of another cell that the process has served.
func named(client *play.Client, name string) *play.Handle {
	for _, h := range client.Handles {
		if requestName(h) == name {
			return h
		}
	}
	return nil
}

func clause(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// stop ends the cell's use of the process. It returns a process that can be reset to the pool; any other it asks to exit, and kills if that
// fails. If the client had already ended, or breaks the protocol, early says so.
func (p *peer) stop() {
	if p.worker == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), exitTime)
	defer cancel()
	healthy := !p.paused && !p.doomed()
	if healthy && canReset(p.hello) && p.reset(ctx) && (!p.foreign() || p.cell.world.pool.Alone(p.worker)) {
		close(p.parted)
		p.watched.Wait()
		p.ending = p.worker.Stderr.Next()
		if p.cell.world.pool.PutBack(p.worker) {
			p.worker = nil
			return
		}
	} else if healthy {
		p.early = p.dismiss(ctx)
	}
	p.ending = errors.Join(p.ending, p.worker.Proc.Kill(context.Background()))
	p.watched.Wait()
}

// canReset says whether a client with this hello can be used again.
func canReset(hello protocol.Hello) bool { return slices.Contains(hello.Verbs, protocol.Reset) }

// reset has the process drop all state of this cell, and says whether it did.
func (p *peer) reset(ctx context.Context) bool {
	msg, err := p.ask(ctx, protocol.Request{Do: protocol.Reset})
	return err == nil && msg.Outcome == protocol.OK
}

// dismiss asks the client to exit and waits until ctx ends. A slow exit is no error.
func (p *peer) dismiss(ctx context.Context) error {
	if _, err := p.ask(ctx, protocol.Request{Do: protocol.Exit}); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	select {
	case <-p.worker.Conn.Done():
	case <-ctx.Done():
		return nil
	}
	if err := p.worker.Conn.Err(); !errors.Is(err, protocol.ErrGone) {
		return play.Undecided("%s: %v", p.client.Name, err)
	}
	return nil
}

// close releases the lab's resources of a stopped process.
func (p *peer) close() error {
	errs := []error{p.ending}
	if p.worker != nil {
		errs = append(errs, p.worker.Conn.Close(), p.worker.Stderr.Close())
	}
	return errors.Join(append(errs, p.links.close())...)
}

// verbs are the protocol's words for operations.
var verbs = map[history.Op]string{
	history.OpAcquire: protocol.Acquire, history.OpRelease: protocol.Release, history.OpRenew: protocol.Renew,
	history.OpCheck: protocol.Check, history.OpWork: protocol.Work,
}

// Call sends the request of an operation.
func (p *peer) Call(op *play.Operation) error {
	req := protocol.Request{ID: op.ID, Do: verbs[op.Op], Handle: requestName(op.Handle)}
	switch op.Op {
	case history.OpAcquire:
		req.WithinMS, req.Wait = protocol.MS(op.Within), p.cell.run.Wait
	case history.OpWork:
		order(&req, op.Handle.Data)
	}
	p.mu.Lock()
	p.asked[op.ID] = op
	p.mu.Unlock()
	if _, err := p.send(req); err != nil {
		return p.gone()
	}
	return nil
}

// order completes a request to work.
func order(req *protocol.Request, data play.Data) {
	req.Key = data.Key
	if data.Work != history.Counter {
		req.Workload = string(data.Work)
	}
	if data.Work == history.FlashSale {
		req.Stock = data.Stock
	}
}

// Cancel orders the client to give an operation up.
func (p *peer) Cancel(ctx context.Context, op *play.Operation) error {
	_, err := p.ask(ctx, protocol.Request{Do: protocol.Cancel, Op: op.ID})
	return err
}

// TakeIn asks the client to answer when it has taken in all replies to a lock's background tasks.
func (p *peer) TakeIn(ctx context.Context, h *play.Handle) error {
	msg, err := p.ask(ctx, protocol.Request{Do: protocol.Idle, Handle: requestName(h)})
	if err == nil && msg.Outcome != protocol.OK {
		return play.Undecided("%s did not say when it had taken in the reply%s", h.Name, clause(msg.Error))
	}
	return err
}

func (p *peer) Pause(ctx context.Context) error {
	err := p.worker.Proc.Pause(ctx)
	p.paused = err == nil
	return err
}

func (p *peer) Resume(ctx context.Context) error {
	p.mu.Lock()
	p.resumed = time.Now() // before it runs, and can say that it was late
	p.mu.Unlock()
	p.links.endsWithholding(faults.Pause, "SIGCONT")
	err := p.worker.Proc.Resume(ctx)
	p.paused = p.paused && err != nil
	return err
}

func (p *peer) Kill(ctx context.Context) error { return p.worker.Proc.Kill(ctx) }

// SetClock sets the process's clock.
func (p *peer) SetClock(ctx context.Context, offset time.Duration, rate float64) error {
	if p.outside {
		return p.worker.Clock.Set(offset, rate)
	}
	if p.noClock != "" {
		return play.NotApplicable("the clock of %s cannot be set: %s", p.client.Name, p.noClock)
	}
	msg, err := p.ask(ctx, protocol.Request{Do: protocol.Skew, Clock: protocol.Clock{OffsetMS: protocol.MS(offset), Rate: rate}})
	if err == nil && msg.Outcome != protocol.OK {
		return play.Undecided("%s did not set its clock%s", p.client.Name, clause(msg.Error))
	}
	return err
}
