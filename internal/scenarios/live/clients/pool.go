// Package clients starts the processes of clients, keeps what they say on standard error, and those that can serve another cell.
//
// It owns a process from its start to its end. It must not know cells, links or operations: a User is all that it has of them.
package clients

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/internal/faults/clocks"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// User is the client of a cell to which a process belongs for a while.
type User interface {
	// WantsClock says whether its clock may have to be set from outside.
	WantsClock() bool
	// StderrPath is where its standard error is kept.
	StderrPath() string
	// Heard receives its messages, in their order.
	Heard(protocol.Message)
}

// Worker is a client process that may serve one cell after another. To start one costs more than most cells.
type Worker struct {
	argv   string // the command that started it
	Proc   *process.Process
	Conn   *protocol.Conn
	Stderr *stderr
	group  int                  // processes besides it that a foreign client had in its group when it first said hello; -1: not counted
	user   atomic.Pointer[User] // nil while it is in the pool
	Clock  *clocks.Clock        // of a foreign client whose clock may have to be set from outside; else nil
}

// Pool holds the reset workers that no cell uses.
type Pool struct {
	guard  *process.Guard
	clocks *clocks.Kit

	mu     sync.Mutex
	free   map[string][]*Worker // by argv
	closed bool
}

func NewPool(guard *process.Guard) *Pool {
	kit := clocks.NewKit(func() (string, error) { return guard.TempDir("locklab-clocks-") }, guard.CombinedOutput)
	return &Pool{guard: guard, clocks: kit, free: make(map[string][]*Worker)}
}

// Take hands a worker to a peer: one that is free, or a new one.
func (p *Pool) Take(argv []string, of User) (*Worker, error) {
	key := strings.Join(argv, "\x00")
	if of.WantsClock() {
		key += "\x00clock"
	}
	p.mu.Lock()
	for all := p.free[key]; len(all) > 0; all = p.free[key] {
		w := all[len(all)-1]
		p.free[key] = all[:len(all)-1]
		if w.Conn.Err() == nil {
			p.mu.Unlock()
			w.user.Store(&of)
			return w, nil
		}
		defer w.end(context.Background()) // it ended in the pool
	}
	p.mu.Unlock()
	return p.start(argv, key, of)
}

func (p *Pool) start(argv []string, key string, of User) (*Worker, error) {
	childIn, toChild, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	fromChild, childOut, err := os.Pipe()
	if err != nil {
		toChild.Close()
		return nil, err
	}
	defer childOut.Close()
	w := &Worker{argv: key, group: -1}
	w.user.Store(&of)
	stderr, childErr, err := keepStderr(func() string {
		if user := w.user.Load(); user != nil {
			return (*user).StderrPath()
		}
		return ""
	})
	if err != nil {
		toChild.Close()
		fromChild.Close()
		return nil, err
	}
	defer childErr.Close()
	w.Stderr = stderr

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, childErr
	if of.WantsClock() {
		if w.Clock, err = p.clocks.New(); err != nil {
			toChild.Close()
			fromChild.Close()
			return nil, err
		}
		cmd.Env = w.Clock.Env(os.Environ())
	}
	if w.Proc, err = p.guard.Start(cmd); err != nil {
		toChild.Close()
		fromChild.Close()
		return nil, err
	}
	go func() {
		<-w.Proc.Done()
		stopReading(fromChild)
		stopReading(stderr.from)
	}()
	w.Conn = protocol.NewConn(toChild, fromChild, func(msg protocol.Message) {
		if user := w.user.Load(); user != nil {
			(*user).Heard(msg)
		}
	})
	return w, nil
}

// drainTime is how long the output of a process that has ended is still read. It passes only if a descendant that left the process's group
// keeps the output open.
const drainTime = time.Second

// stopReading bounds the reading of what a process has written before its end.
func stopReading(pipe *os.File) { _ = pipe.SetReadDeadline(time.Now().Add(drainTime)) }

// PutBack takes a reset worker. It returns false if the pool is closed; then the caller ends the worker.
func (p *Pool) PutBack(w *Worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	w.user.Store(nil)
	p.free[w.argv] = append(p.free[w.argv], w)
	return true
}

// Count counts what has come with the process of a foreign client, once: a shell around it, for example.
func (p *Pool) Count(w *Worker) {
	if w.group < 0 {
		w.group, _, _ = p.guard.Descendants(w.Proc)
	}
}

// Alone says whether the process of a foreign client has nothing left that it started for a cell. Such a process would keep the pipes of the
// client open, and the next cell's client would be taken for alive.
func (p *Pool) Alone(w *Worker) bool {
	group, left, err := p.guard.Descendants(w.Proc)
	return err == nil && left == 0 && group <= w.group
}

// Close ends the workers that are left.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	var all []*Worker
	for _, free := range p.free {
		all = append(all, free...)
	}
	p.free = nil
	p.mu.Unlock()
	errs := make([]error, len(all))
	var ends sync.WaitGroup
	for i, w := range all {
		ends.Go(func() { errs[i] = w.end(context.Background()) })
	}
	ends.Wait()
	return errors.Join(errs...)
}

// end ends the process, and releases the lab's resources of it.
func (w *Worker) end(ctx context.Context) error {
	err := w.Proc.Kill(ctx)
	return errors.Join(err, w.Conn.Close(), w.Stderr.Close())
}
