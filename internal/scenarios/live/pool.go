package live

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/internal/faults/clocks"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// worker is a client process that may serve one cell after another. To start one costs more than most cells.
type worker struct {
	argv   string // the command that started it
	proc   *process.Process
	conn   *protocol.Conn
	stderr *stderr
	group  int                  // processes besides it that a foreign client had in its group when it first said hello; -1: not counted
	user   atomic.Pointer[peer] // nil while it is in the pool
	clock  *clocks.Clock        // of a foreign client whose clock may have to be set from outside; else nil
}

// pool holds the reset workers that no cell uses.
type pool struct {
	guard  *process.Guard
	clocks *clocks.Kit

	mu     sync.Mutex
	free   map[string][]*worker // by argv
	closed bool
}

func newPool(guard *process.Guard) *pool {
	kit := clocks.NewKit(func() (string, error) { return guard.TempDir("locklab-clocks-") }, guard.CombinedOutput)
	return &pool{guard: guard, clocks: kit, free: make(map[string][]*worker)}
}

// take hands a worker to a peer: one that is free, or a new one.
func (p *pool) take(argv []string, user *peer) (*worker, error) {
	key := strings.Join(argv, "\x00")
	if user.wantsClock() {
		key += "\x00clock"
	}
	p.mu.Lock()
	for all := p.free[key]; len(all) > 0; all = p.free[key] {
		w := all[len(all)-1]
		p.free[key] = all[:len(all)-1]
		if w.conn.Err() == nil {
			p.mu.Unlock()
			w.user.Store(user)
			return w, nil
		}
		defer w.end(context.Background()) // it ended in the pool
	}
	p.mu.Unlock()
	return p.start(argv, key, user)
}

func (p *pool) start(argv []string, key string, user *peer) (*worker, error) {
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
	w := &worker{argv: key, group: -1}
	w.user.Store(user)
	stderr, childErr, err := keepStderr(func() string {
		if user := w.user.Load(); user != nil {
			return user.stderrPath()
		}
		return ""
	})
	if err != nil {
		toChild.Close()
		fromChild.Close()
		return nil, err
	}
	defer childErr.Close()
	w.stderr = stderr

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, childErr
	if user.wantsClock() {
		if w.clock, err = p.clocks.New(); err != nil {
			toChild.Close()
			fromChild.Close()
			return nil, err
		}
		cmd.Env = w.clock.Env(os.Environ())
	}
	if w.proc, err = p.guard.Start(cmd); err != nil {
		toChild.Close()
		fromChild.Close()
		return nil, err
	}
	go func() {
		<-w.proc.Done()
		stopReading(fromChild)
		stopReading(stderr.from)
	}()
	w.conn = protocol.NewConn(toChild, fromChild, func(msg protocol.Message) {
		if user := w.user.Load(); user != nil {
			user.heard(msg)
		}
	})
	return w, nil
}

// drainTime is how long the output of a process that has ended is still read. It passes only if a descendant that left the process's group
// keeps the output open.
const drainTime = time.Second

// stopReading bounds the reading of what a process has written before its end.
func stopReading(pipe *os.File) { _ = pipe.SetReadDeadline(time.Now().Add(drainTime)) }

// putBack takes a reset worker. It returns false if the pool is closed; then the caller ends the worker.
func (p *pool) putBack(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	w.user.Store(nil)
	p.free[w.argv] = append(p.free[w.argv], w)
	return true
}

// count counts what has come with the process of a foreign client, once: a shell around it, for example.
func (p *pool) count(w *worker) {
	if w.group < 0 {
		w.group, _, _ = p.guard.Descendants(w.proc)
	}
}

// alone says whether the process of a foreign client has nothing left that it started for a cell. Such a process would keep the pipes of the
// client open, and the next cell's client would be taken for alive.
func (p *pool) alone(w *worker) bool {
	group, left, err := p.guard.Descendants(w.proc)
	return err == nil && left == 0 && group <= w.group
}

// close ends the workers that are left.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	var all []*worker
	for _, free := range p.free {
		all = append(all, free...)
	}
	p.free = nil
	p.mu.Unlock()
	return errors.Join(atOnce(len(all), func(i int) error { return all[i].end(context.Background()) })...)
}

// end ends the process, and releases the lab's resources of it.
func (w *worker) end(ctx context.Context) error {
	err := w.proc.Kill(ctx)
	return errors.Join(err, w.conn.Close(), w.stderr.close())
}

// canReset says whether a client with this hello can be used again.
func canReset(hello protocol.Hello) bool { return slices.Contains(hello.Verbs, protocol.Reset) }
