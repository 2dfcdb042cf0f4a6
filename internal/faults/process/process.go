package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var errEnded = errors.New("it has ended")

// The operating system reports stops and deaths of grandchildren only to init, so the lab polls for them, with growing pauses.
const (
	pollFirst = 200 * time.Microsecond
	pollMost  = 10 * time.Millisecond
)

func nextPoll(wait time.Duration) time.Duration { return min(2*wait, pollMost) }

// Process is a running process and its group: all of its descendants that did not leave the group. It is safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{}
	end  string // valid once done is closed
	err  error  // likewise

	mu     sync.Mutex // held while a signal is sent: the PID must not be reused meanwhile
	reaped bool
}

// member is a process of a group that is no zombie.
type member struct {
	pid     int
	stopped bool // all of its threads are
}

type startRequest struct {
	process *Process
	reply   chan error
}

// Start starts the command as the leader of a new process group that ends with the lab. When the process itself ends, the rest
// of its group is killed. The command must come from exec.Command, not from exec.CommandContext. Read its output from StdoutPipe, which
// the caller closes, or give it files: other writers may get output after Done.
func (g *Guard) Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.Cancel != nil {
		return nil, fmt.Errorf("start %s: the command has a context of its own", cmd.Path)
	}
	ownGroup(cmd)
	// Locked from before the start until the guard has been told: Close sees either no process or a registered one.
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, errClosed)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	request := startRequest{process: p, reply: make(chan error, 1)}
	g.starts <- request
	if err := <-request.reply; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	g.running[p] = struct{}{}
	go g.reap(p)
	return p, nil
}

// CombinedOutput runs the command to its end, and returns all that it wrote. Its error is as that of exec.Cmd.CombinedOutput.
func (g *Guard) CombinedOutput(cmd *exec.Cmd) ([]byte, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = theirs, theirs
	p, err := g.Start(cmd)
	theirs.Close()
	if err != nil {
		return nil, err
	}
	said, err := io.ReadAll(out)
	<-p.Done()
	return said, errors.Join(err, p.Err())
}

// starter starts all processes from one thread that lives as long as the guard: the parent-death signal comes when the thread that
// started a process ends. If the lab is killed between the start and the registration, the guard finds the process by its mark.
func (g *Guard) starter() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for request := range g.starts {
		request.reply <- g.startRegistered(request.process)
	}
}

func (g *Guard) startRegistered(p *Process) error {
	select {
	case <-g.gone:
		return g.ended()
	default:
	}
	p.cmd.Env = append(p.cmd.Environ(), g.mark)
	if g.tag != nil {
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, g.tag)
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	if err := g.tellLocked("group", p.pid); err != nil {
		_ = signalGroup(p.pid, sigKill)
		_, _ = p.cmd.Process.Wait()
		return err
	}
	return nil
}

// reap waits for the end of the process. It kills the rest of the group, and has the guard forget it, before it reaps the process: until
// then the PID cannot be reused.
func (g *Guard) reap(p *Process) {
	defer close(p.done)
	err := awaitExit(p.pid)
	err = errors.Join(err, endGroups([]int{p.pid}, patience))

	g.mu.Lock()
	_ = g.tellLocked("forget group", p.pid)
	g.mu.Unlock()
	p.reapProcess(err)
	g.mu.Lock()
	delete(g.running, p)
	g.mu.Unlock()
}

// reapProcess takes in how the process ended. err is what went wrong when its group was ended.
func (p *Process) reapProcess(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	// Not cmd.Wait: it would close the pipes before their reader has the last lines.
	state, waitErr := p.cmd.Process.Wait()
	p.err = errors.Join(err, waitErr)
	p.end = state.String()
	if p.err == nil && !state.Success() {
		p.err = &exec.ExitError{ProcessState: state}
	}
}

// LimitMemory bounds, in bytes, what the process may allocate from now on. Where the operating system cannot, nothing is bounded.
func (p *Process) LimitMemory(bytes uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return nil
	}
	if err := limitMemory(p.pid, bytes); err != nil {
		return fmt.Errorf("limit the memory of process %d: %w", p.pid, err)
	}
	return nil
}

// Descendants counts the living processes besides p that p has started, directly or not: those in its group, and those that have left it. An
// orphan that left its group may be anybody's and counts for every process. Where the operating system shows no parents, or the guard adopts no
// orphans, only the group is counted.
func (g *Guard) Descendants(p *Process) (group, left int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.descendants(p.pid)
}

// PID is the ID of the process and of its group.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended: nil while it runs and after exit status 0, else usually an *exec.ExitError.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// State is "running", "stopped", or how the process ended ("exit status 0", "signal: killed").
func (p *Process) State() string {
	select {
	case <-p.done:
		return p.end
	default:
	}
	alive, err := members(p.pid)
	for _, m := range alive {
		if err == nil && m.pid == p.pid && m.stopped {
			return "stopped"
		}
	}
	return "running"
}

// Pause stops the whole group and returns once each thread of it is seen to be stopped.
func (p *Process) Pause(ctx context.Context) error {
	err := p.order(ctx, sigStop, func(m member) bool { return m.stopped })
	if err != nil {
		return fmt.Errorf("pause process %d: %w", p.pid, err)
	}
	return nil
}

// Resume continues the group and returns once no process in it is stopped.
func (p *Process) Resume(ctx context.Context) error {
	err := p.order(ctx, sigContinue, func(m member) bool { return !m.stopped })
	if err != nil {
		return fmt.Errorf("resume process %d: %w", p.pid, err)
	}
	return nil
}

// Kill kills the whole group, stopped or not, and returns once it is gone, or after 20 s. Killing a process that has ended is no error.
func (p *Process) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := p.signal(sigKill); err != nil && !errors.Is(err, errEnded) {
		return fmt.Errorf("kill process %d: %w", p.pid, err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill process %d: not seen to take effect: %w", p.pid, context.Cause(ctx))
	}
}

func (p *Process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return errEnded
	}
	return signalGroup(p.pid, sig)
}

// order signals the group and waits until obeys holds for every member. The process itself must be among them.
func (p *Process) order(ctx context.Context, sig syscall.Signal, obeys func(member) bool) error {
	if err := p.signal(sig); err != nil {
		return err
	}
	for wait := pollFirst; ; wait = nextPoll(wait) {
		alive, err := members(p.pid)
		if err != nil {
			return err
		}
		if obeyed(alive, p.pid, obeys) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%w: %s", errEnded, p.end)
		case <-ctx.Done():
			return fmt.Errorf("not seen to take effect: %w", context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

func obeyed(alive []member, leader int, obeys func(member) bool) bool {
	seen := false
	for _, m := range alive {
		if !obeys(m) {
			return false
		}
		seen = seen || m.pid == leader
	}
	return seen
}
