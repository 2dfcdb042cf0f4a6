package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/faults/process"
)

// patience bounds a server's start and its end.
const patience = 20 * time.Second

// startTime bounds the start of a server that computes for a second or more before it answers, such as Java's: on a busy machine it may have
// a tenth of a core. One that ends is noticed at once.
const startTime = time.Minute

// daemon is the process of a server that the lab starts, kills and starts again at the same address, with a directory of its own.
type daemon struct {
	what  string // its name, for errors
	guard *process.Guard
	dir   string
	log   string // its output, which says why a server has ended; empty: one in its directory
	addr  string
	// command is the command that runs it at a port. ready is an error until this very process answers.
	command func(port string) (*exec.Cmd, error)
	ready   func(context.Context, *process.Process) error
	// busy is what its log says where a process that was killed has not quite gone; empty: nothing.
	busy string
	// quit asks the process to end at once, with all that it has started; nil: its group is all that there is.
	quit func(ctx context.Context) error
	*fate

	mu      sync.Mutex
	process *process.Process
	closed  bool
	ending  bool         // the lab ends the process
	down    *placeholder // nil: it is up
}

// open starts the process on a free loopback port. After an error nothing is left, nor the directory.
func (d *daemon) open(ctx context.Context) error {
	if d.fate == nil {
		d.fate = newFate()
	}
	err := onFreePort(func(port int) (bool, error) {
		return d.startAt(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", d.what, err), d.guard.RemoveDir(d.dir))
	}
	return nil
}

// startAt starts the process at an address, unless another has it, and waits until it answers. After an error no process is left.
func (d *daemon) startAt(ctx context.Context, addr string) (taken bool, err error) {
	d.addr = addr
	return d.start(ctx)
}

// start is startAt for the address that it has.
func (d *daemon) start(ctx context.Context) (taken bool, err error) {
	if d.log == "" {
		d.log = filepath.Join(d.dir, "log")
	}
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	defer log.Close()
	from, err := log.Seek(0, 2)
	if err != nil {
		return false, err
	}
	_, port, err := net.SplitHostPort(d.addr)
	if err != nil {
		return false, err
	}
	cmd, err := d.command(port)
	if err != nil {
		return false, err
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.dir, log, log
	p, err := d.guard.Start(cmd)
	if err != nil {
		return false, err
	}
	if err := d.awaitReady(ctx, p); err != nil {
		_ = p.Kill(context.WithoutCancel(ctx))
		said := logged(d.log, from) // Java says why above the trace of its call stack
		taken = strings.Contains(strings.ToLower(said), "address already in use") || d.busy != "" && strings.Contains(said, d.busy)
		return taken, fmt.Errorf("%w%s", err, lastLines(d.log, from))
	}
	d.process, d.ending = p, false
	go d.watch(p)
	return false, nil
}

func (d *daemon) awaitReady(ctx context.Context, p *process.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 40*time.Millisecond) {
		err := d.ready(ctx, p)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("it ended at once: %s", p.State())
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", errors.Join(context.Cause(ctx), err))
		case <-time.After(wait):
		}
	}
}

// watch notices that the process ends against the lab's will.
func (d *daemon) watch(p *process.Process) {
	<-p.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == p && !d.ending {
		d.ending = true
		d.meet(p.State())
	}
}

// Addr is where it listens.
func (d *daemon) Addr() string { return d.addr }

// running is its process, which may have ended; nil: none has started.
func (d *daemon) running() *process.Process { return d.process }

// relocate takes the process for one that listens at another address now.
func (d *daemon) relocate(ctx context.Context, addr string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addr = addr
	return d.awaitReady(ctx, d.process)
}

// isDown says whether it has been stopped.
func (d *daemon) isDown() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down != nil
}

// kill ends the process for a while.
func (d *daemon) kill(ctx context.Context) error {
	switch {
	case d.closed:
		return errors.New("it is closed")
	case d.down != nil:
		return errDown
	}
	return d.end(ctx)
}

// end ends the process. What it is asked in vain, a signal does.
func (d *daemon) end(ctx context.Context) error {
	d.ending = true
	if d.quit != nil && d.quit(ctx) == nil {
		select {
		case <-d.process.Done():
		case <-ctx.Done():
		}
	}
	return d.process.Kill(ctx)
}

// restart kills the process, calls between, and starts another at the same address.
func (d *daemon) restart(ctx context.Context, between func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.kill(ctx)
	if err == nil {
		err = between()
	}
	if err == nil {
		err = onSamePort(ctx, func() (bool, error) { return d.start(ctx) })
	}
	if err != nil {
		return fmt.Errorf("restart %s: %w", d.what, err)
	}
	return nil
}

// Stop kills the process. What it has acknowledged is on disk.
func (d *daemon) Stop(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.kill(ctx)
	if err == nil {
		d.down, err = keepPlace(ctx, d.addr)
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", d.what, err)
	}
	return nil
}

// StartAgain starts a process at the same address, with the data of the one that was stopped.
func (d *daemon) StartAgain(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down == nil {
		return fmt.Errorf("start %s again: %w", d.what, errNotDown)
	}
	d.down.leave()
	d.down = nil
	if err := onSamePort(ctx, func() (bool, error) { return d.start(ctx) }); err != nil {
		return fmt.Errorf("start %s again: %w", d.what, err)
	}
	return nil
}

// Close kills the process and removes its directory. Later calls do nothing.
func (d *daemon) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	d.down.leave()
	d.down = nil
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(d.end(ctx), d.guard.RemoveDir(d.dir))
}

// pause lets a moment pass before a server is asked again.
func pause(ctx context.Context) error {
	select {
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
