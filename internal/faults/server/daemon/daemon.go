// Package daemon runs the process of a server: it starts it on a free port, notices that it ends, and starts it again at the same address.
//
// It owns the process, its port, its log and its directory. It must not know what the server is: commands and questions are its caller's.
package daemon

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

// Patience bounds a server's start and its end.
const Patience = 20 * time.Second

// StartTime bounds the start of a server that computes for a second or more before it answers, such as Java's: on a busy machine it may have
// a tenth of a core. One that ends is noticed at once.
const StartTime = time.Minute

// Daemon is the process of a server that the lab starts, kills and starts again at the same address, with a directory of its own.
type Daemon struct {
	What  string // its name, for errors
	Guard *process.Guard
	Dir   string
	Log   string // its output, which says why a server has ended; empty: one in its directory
	addr  string
	// command is the command that runs it at a port. ready is an error until this very process answers.
	Command func(port string) (*exec.Cmd, error)
	Ready   func(context.Context, *process.Process) error
	// busy is what its log says where a process that was killed has not quite gone; empty: nothing.
	Busy string
	// quit asks the process to end at once, with all that it has started; nil: its group is all that there is.
	Quit func(ctx context.Context) error
	*Fate

	mu      sync.Mutex
	process *process.Process
	closed  bool
	ending  bool         // the lab ends the process
	down    *Placeholder // nil: it is up
}

// Open starts the process on a free loopback port. After an error nothing is left, nor the directory.
func (d *Daemon) Open(ctx context.Context) error {
	if d.Fate == nil {
		d.Fate = NewFate()
	}
	err := OnFreePort(func(port int) (bool, error) {
		return d.StartAt(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", d.What, err), d.Guard.RemoveDir(d.Dir))
	}
	return nil
}

// StartAt starts the process at an address, unless another has it, and waits until it answers. After an error no process is left.
func (d *Daemon) StartAt(ctx context.Context, addr string) (taken bool, err error) {
	d.addr = addr
	return d.start(ctx)
}

// start is startAt for the address that it has.
func (d *Daemon) start(ctx context.Context) (taken bool, err error) {
	if d.Log == "" {
		d.Log = filepath.Join(d.Dir, "log")
	}
	log, err := os.OpenFile(d.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
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
	cmd, err := d.Command(port)
	if err != nil {
		return false, err
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.Dir, log, log
	p, err := d.Guard.Start(cmd)
	if err != nil {
		return false, err
	}
	if err := d.awaitReady(ctx, p); err != nil {
		_ = p.Kill(context.WithoutCancel(ctx))
		said := logged(d.Log, from) // Java says why above the trace of its call stack
		taken = strings.Contains(strings.ToLower(said), "address already in use") || d.Busy != "" && strings.Contains(said, d.Busy)
		return taken, fmt.Errorf("%w%s", err, LastLines(d.Log, from))
	}
	d.process, d.ending = p, false
	go d.watch(p)
	return false, nil
}

func (d *Daemon) awaitReady(ctx context.Context, p *process.Process) error {
	ctx, cancel := context.WithTimeout(ctx, StartTime)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 40*time.Millisecond) {
		err := d.Ready(ctx, p)
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
func (d *Daemon) watch(p *process.Process) {
	<-p.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == p && !d.ending {
		d.ending = true
		d.meet(p.State())
	}
}

// Addr is where it listens.
func (d *Daemon) Addr() string { return d.addr }

// Running is its process, which may have ended; nil: none has started.
func (d *Daemon) Running() *process.Process { return d.process }

// Relocate takes the process for one that listens at another address now.
func (d *Daemon) Relocate(ctx context.Context, addr string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addr = addr
	return d.awaitReady(ctx, d.process)
}

// IsDown says whether it has been stopped.
func (d *Daemon) IsDown() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down != nil
}

// kill ends the process for a while.
func (d *Daemon) kill(ctx context.Context) error {
	switch {
	case d.closed:
		return errors.New("it is closed")
	case d.down != nil:
		return ErrDown
	}
	return d.end(ctx)
}

// end ends the process. What it is asked in vain, a signal does.
func (d *Daemon) end(ctx context.Context) error {
	d.ending = true
	if d.Quit != nil && d.Quit(ctx) == nil {
		select {
		case <-d.process.Done():
		case <-ctx.Done():
		}
	}
	return d.process.Kill(ctx)
}

// Restart kills the process, calls between, and starts another at the same address.
func (d *Daemon) Restart(ctx context.Context, between func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.kill(ctx)
	if err == nil {
		err = between()
	}
	if err == nil {
		err = OnSamePort(ctx, func() (bool, error) { return d.start(ctx) })
	}
	if err != nil {
		return fmt.Errorf("restart %s: %w", d.What, err)
	}
	return nil
}

// Stop kills the process. What it has acknowledged is on disk.
func (d *Daemon) Stop(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.kill(ctx)
	if err == nil {
		d.down, err = KeepPlace(ctx, d.addr)
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", d.What, err)
	}
	return nil
}

// StartAgain starts a process at the same address, with the data of the one that was stopped.
func (d *Daemon) StartAgain(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down == nil {
		return fmt.Errorf("start %s again: %w", d.What, ErrNotDown)
	}
	d.down.Leave()
	d.down = nil
	if err := OnSamePort(ctx, func() (bool, error) { return d.start(ctx) }); err != nil {
		return fmt.Errorf("start %s again: %w", d.What, err)
	}
	return nil
}

// Close kills the process and removes its directory. Later calls do nothing.
func (d *Daemon) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	d.down.Leave()
	d.down = nil
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return errors.Join(d.end(ctx), d.Guard.RemoveDir(d.Dir))
}

// Pause lets a moment pass before a server is asked again.
func Pause(ctx context.Context) error {
	select {
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
