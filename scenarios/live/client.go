package live

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/faults/process"
	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/storm"
	"github.com/locklab/locklab/worker/protocol"
)

// mainHandle is the name under which a client opens its first lock; further ones go by their names in the script.
const mainHandle = "lock"

// farewell is how long a client may take to exit by itself before it is killed.
const farewell = 2 * time.Second

// client is one user of a lock in a cell: a process with its lock, or a further handle in the process of another client. It belongs
// to the goroutine that plays the script; but heard runs in the reader of the process's output, and current in the taps.
type client struct {
	name string
	cell *cell
	*peer
	handle       string // under which the process knows the lock
	lockKey      string
	store        store // of the work under its lock
	lockLinks    []*lockLink
	resourceLink *link

	cells.Belief
	pending *operation // the operation that has not been answered; nil: none
	heldUp  *armed     // where something of it is stopped on the wire; nil: nowhere
	late    *armed     // what is stopped there and no operation waits for any more; nil: nothing

	inFlight atomic.Pointer[operation]
}

// peer is a process: one client's, and that of the further handles in it.
type peer struct {
	members []*client // the client first, then the further handles
	proc    *process.Process
	conn    *protocol.Conn
	words   *lastWords // the end of its standard error
	hello   protocol.Hello

	paused  bool
	broken  []*lockLink // whose connections were broken under an operation that went on; the process is to connect anew after it
	crashed atomic.Bool // by order of the script

	mu    sync.Mutex
	asked map[int64]*operation // operations sent, by number

	moments chan storm.Moment // a storm that waits for this client's receives them

	watched sync.WaitGroup
	early   error // it had ended before it was told to, or had broken the protocol
	killed  error // what went wrong when the process was ended
}

// operation is a request that the script made of a client.
type operation struct {
	by     *client
	id     int64
	op     history.Op
	reply  <-chan protocol.Message
	traps  []armed // those not yet reached, in the order of the script
	gaveUp atomic.Bool
	// forsaken: an unknown outcome is left at that. The client goes on as one that did not get what it asked for.
	forsaken bool
}

// armed is a trap of the script that waits on the wire.
type armed struct {
	*tap.Trap
	want scenarios.Trap
}

// newClient is a client with its process and the further handles in it.
func newClient(c *cell, name string, handles []string) *client {
	p := &peer{asked: map[int64]*operation{}, moments: make(chan storm.Moment)}
	p.members = append(p.members, &client{name: name, cell: c, peer: p, handle: mainHandle})
	for _, handle := range handles {
		p.members = append(p.members, &client{name: handle, cell: c, peer: p, handle: handle})
	}
	return p.members[0]
}

// notice tells a storm that waits for it that the client has come to a moment.
func (p *peer) notice(m storm.Moment) {
	select {
	case p.moments <- m:
	default:
	}
}

// start starts the process and brings it to the point where it has opened its locks.
func (cl *client) start(ctx context.Context) (err error) {
	c := cl.cell
	for _, m := range cl.members {
		if err = m.connect(ctx); err != nil {
			return err
		}
		if m.resourceLink, err = c.link(ctx, c.resourceTap, m.name, "resource"); err != nil {
			return err
		}
	}
	if err := cl.spawn(c.subject.Argv); err != nil {
		return cells.Undecided("client %s could not be started: %v", cl.name, err)
	}
	cl.watched.Go(cl.watch)
	return cl.introduce(ctx)
}

// watch waits for the end of the client's output. An end that the script did not order ends its holds, and the cell.
func (cl *client) watch() {
	<-cl.conn.Done()
	if cl.crashed.Load() || cl.cell.over.Load() {
		return
	}
	why := cl.gone()
	for _, m := range cl.members {
		cl.cell.witness(history.Event{Kind: history.KindExit, Client: m.name, Detail: &history.Detail{Why: why.Error()}})
	}
	cl.cell.spoil(why)
}

func (cl *client) spawn(argv []string) error {
	childIn, toChild, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childIn.Close()
	fromChild, childOut, err := os.Pipe()
	if err != nil {
		toChild.Close()
		return err
	}
	defer childOut.Close()
	words, childErr, err := keepLastWords(filepath.Join(cl.cell.dir, cl.name+".stderr"))
	if err != nil {
		toChild.Close()
		fromChild.Close()
		return err
	}
	defer childErr.Close()
	cl.words = words

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, childErr
	if cl.proc, err = cl.cell.world.guard.Start(cmd); err != nil {
		toChild.Close()
		fromChild.Close()
		return err
	}
	cl.conn = protocol.NewConn(toChild, fromChild, cl.heard)
	return nil
}

// introduce says init and open. A client that does not get so far is no subject for a verdict.
func (cl *client) introduce(ctx context.Context) error {
	hello, err := cl.ask(ctx, protocol.Request{
		Do: protocol.Init, Version: protocol.Version, Client: cl.name,
		Servers: cl.lockAddrs(), Resource: cl.resourceLink.Addr(),
		TimeoutMS: milliseconds(2 * cl.cell.world.cfg.CellTimeout),
	})
	if err != nil {
		return err
	}
	if hello.Hello == nil {
		return cells.Undecided("%s answered init without hello%s", cl.name, clause(hello.Error))
	}
	cl.hello = *hello.Hello
	if len(cl.members) > 1 && !cl.hello.Separate {
		return nil // the cell is not applicable, as its traits will say
	}
	for _, m := range cl.members {
		if err := m.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open opens one lock of the process. A further one goes its own way to the servers, by which its commands are known.
func (cl *client) open(ctx context.Context) error {
	req := protocol.Request{
		Do: protocol.Open, Handle: cl.handle, Lock: cl.cell.subject.Name,
		Key: cl.lockKey, LeaseMS: milliseconds(cl.cell.script.Lease),
	}
	if cl != cl.members[0] {
		req.Servers, req.Resource = cl.lockAddrs(), cl.resourceLink.Addr()
	}
	opened, err := cl.ask(ctx, req)
	if err != nil {
		return err
	}
	if opened.Outcome != protocol.OK {
		return cells.Undecided("%s could not open its lock%s", cl.name, clause(opened.Error))
	}
	return nil
}

// ask sends a request that is no operation of the history and waits for its answer.
func (cl *client) ask(ctx context.Context, req protocol.Request) (protocol.Message, error) {
	req.ID = cl.cell.nextID()
	reply, err := cl.conn.Send(req)
	if err != nil {
		return protocol.Message{}, cl.gone()
	}
	select {
	case msg, ok := <-reply:
		if !ok {
			return protocol.Message{}, cl.gone()
		}
		if msg.Unsupported {
			return msg, unsupported(cl.name, req.Do)
		}
		return msg, nil
	case <-ctx.Done():
		return protocol.Message{}, cl.silent(ctx, req.Do)
	}
}

// unsupported says that a client does not know a verb: every client must know most of them.
func unsupported(client, verb string) error {
	switch verb {
	case protocol.Renew, protocol.Check, protocol.Skew, protocol.Reconnect:
		return cells.NotApplicable("the client does not know %q", verb)
	}
	return cells.Undecided("%s does not know %q, which every client must", client, verb)
}

// gone says why a client can no longer be talked to. That is a verdict about the client, not a failure of the lab.
func (cl *client) gone() error {
	how := cl.conn.Err()
	if how == nil || errors.Is(how, protocol.ErrGone) {
		how = errors.New("the client has ended: " + cl.fate())
	}
	return cells.Undecided("%s: %v%s", cl.name, how, cl.words)
}

// fate is how the process ended. The end of its output comes a little earlier, and that of its standard error a little later.
func (cl *client) fate() string {
	patience := time.After(farewell)
	for _, end := range []<-chan struct{}{cl.proc.Done(), cl.words.done} {
		select {
		case <-end:
		case <-patience:
			return cl.proc.State()
		}
	}
	return cl.proc.State()
}

// silent says that a client, or the machine, did not answer in time.
func (cl *client) silent(ctx context.Context, what string) error {
	return cells.Undecided("%s did not answer %s: %v", cl.name, what, context.Cause(ctx))
}

// heard records what a process says, in the order in which it says it, before anybody acts on it.
func (cl *client) heard(msg protocol.Message) {
	switch {
	case msg.Lost != "":
		if m := cl.member(msg.Lost); m != nil {
			m.Lost.Store(true)
			m.cell.witness(history.Event{Kind: history.KindLost, Client: m.name, Lock: m.lockKey, Detail: &history.Detail{Why: msg.Why}})
		}
	case msg.Valid != "" && msg.ValidMS != nil:
		if m := cl.member(msg.Valid); m != nil {
			m.cell.witness(history.Event{Kind: history.KindValid, Client: m.name, Lock: m.lockKey, Valid: cells.Declared(duration(*msg.ValidMS))})
		}
	case msg.ID != 0:
		cl.answered(msg)
	}
}

// member is whose lock a handle is. Where a process has one lock only, any notice is about that one.
func (p *peer) member(handle string) *client {
	for _, m := range p.members {
		if m.handle == handle || len(p.members) == 1 {
			return m
		}
	}
	return nil
}

func (p *peer) answered(msg protocol.Message) {
	p.mu.Lock()
	op := p.asked[msg.ID]
	delete(p.asked, msg.ID)
	p.mu.Unlock()
	if op == nil {
		return // the answer to init, open and the like
	}
	op.by.inFlight.CompareAndSwap(op, nil)
	answer := answerOf(msg)
	gaveUp := op.gaveUp.Load() || op.forsaken && answer.Outcome == history.Unknown
	op.by.cell.witness(cells.Returned(op.by.name, op.by.lockKey, op.op, op.id, answer, gaveUp))
}

func answerOf(msg protocol.Message) cells.Answer {
	answer := cells.Answer{
		Outcome: outcomeOf(msg.Outcome), Error: msg.Error, Fence: msg.Fence, Read: msg.Read, Wrote: msg.Wrote, Did: msg.Did,
	}
	if msg.ValidMS != nil {
		valid := duration(*msg.ValidMS)
		answer.Valid = &valid
	}
	return answer
}

func outcomeOf(word string) history.Outcome {
	switch word {
	case protocol.OK:
		return history.OK
	case protocol.No:
		return history.No
	}
	return history.Unknown
}

// current is the operation in whose time a command of this client arrives at a tap.
func (cl *client) current(onResource bool) (history.Op, int64) {
	op := cl.inFlight.Load()
	if op == nil || (op.op == history.OpWork) != onResource {
		return history.OpNone, 0
	}
	return op.op, op.id
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func clause(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// stop ends the process: asked to exit first, killed if it does not, or cannot. A client that had ended before it was asked, or
// that breaks the protocol to the last, says so in early.
func (cl *client) stop() {
	if cl.proc == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if !cl.paused && !cl.crashed.Load() {
		cl.early = cl.dismiss(ctx)
	}
	cl.killed = cl.proc.Kill(context.Background())
	cl.watched.Wait()
}

// dismiss asks the client to exit and waits until it has. One that takes its time has done nothing wrong.
func (cl *client) dismiss(ctx context.Context) error {
	if _, err := cl.ask(ctx, protocol.Request{Do: protocol.Exit}); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	select {
	case <-cl.conn.Done():
	case <-ctx.Done():
		return nil
	}
	if err := cl.conn.Err(); !errors.Is(err, protocol.ErrGone) {
		return cells.Undecided("%s: %v", cl.name, err)
	}
	return nil
}

// close releases what the lab holds of a process that has been stopped.
func (cl *client) close() error {
	errs := []error{cl.killed}
	if cl.conn != nil {
		errs = append(errs, cl.conn.Close())
	}
	errs = append(errs, cl.closeLinks())
	if cl.words != nil {
		errs = append(errs, cl.words.close())
	}
	return errors.Join(errs...)
}

// vanish notes that the client is there no more.
func (cl *client) vanish() {
	cl.Vanish()
	cl.pending = nil
}

// closeLinks takes the ways of a process to the servers down. What a tap still holds of it is delivered all the same.
func (cl *client) closeLinks() error {
	var errs []error
	for _, m := range cl.members {
		for _, l := range m.lockLinks {
			errs = append(errs, l.close())
		}
		if m.resourceLink != nil {
			errs = append(errs, m.resourceLink.close())
		}
	}
	return errors.Join(errs...)
}
