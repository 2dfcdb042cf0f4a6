// Package process starts, pauses, resumes and kills the processes of a run (clients, servers), so that none of them outlives the lab.
// Linux and macOS; elsewhere it compiles, and StartGuard returns an error.
//
// Each process leads a process group of its own, which a guard process knows: the lab's own binary at the end of a pipe. When
// the pipe ends, whatever ended the lab, the guard kills the groups, removes the temporary directories, and undoes what it was told
// to undo elsewhere.
//
// It owns process groups and the guard. It must not know what a process is for.
package process

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// patience bounds how long the guard process may take to start or to end. It is generous: on a loaded machine it must not
// fire by accident.
const patience = 20 * time.Second

// markVar is the environment variable by which the guard process knows everything that its lab has started, also what the lab
// had no time to tell it about.
const markVar = "LOCKLAB_GUARD"

var errClosed = errors.New("the guard is closed")

// Guard starts processes and makes temporary directories, and sees to it that they end with the lab. Its methods may be called
// by several goroutines at once.
type Guard struct {
	cmd    *exec.Cmd
	mark   string // markVar with this guard's value
	pipe   io.WriteCloser
	said   *bytes.Buffer // its standard error; valid once gone is closed
	gone   chan struct{} // closed when the guard process has ended
	end    error         // how it ended; valid once gone is closed
	starts chan startRequest

	mu      sync.Mutex // held while a line is written, and over the fields below
	closed  bool
	running map[*Process]struct{}
	dirs    map[string]struct{}
}

// StartGuard starts the guard process. argv is the command that calls GuardMain: the lab's own binary and its arguments.
func StartGuard(argv []string) (*Guard, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if len(argv) == 0 {
		return nil, errors.New("start the guard: no command given")
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	ownSession(cmd)
	mark := markVar + "=" + rand.Text()
	cmd.Env = append(cmd.Environ(), mark)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	said := &bytes.Buffer{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	g := &Guard{
		cmd:     cmd,
		mark:    mark,
		pipe:    pipe,
		said:    said,
		gone:    make(chan struct{}),
		starts:  make(chan startRequest),
		running: map[*Process]struct{}{},
		dirs:    map[string]struct{}{},
	}
	if err := g.awaitReady(out); err != nil {
		return nil, err
	}
	go g.watch()
	go g.starter()
	return g, nil
}

// awaitReady waits for the first line of the guard process. Without it a wrong command would be noticed only when the guard
// is needed.
func (g *Guard) awaitReady(out io.Reader) error {
	overdue := time.AfterFunc(patience, func() { _ = g.cmd.Process.Kill() })
	line, err := bufio.NewReader(io.LimitReader(out, guardLine)).ReadString('\n')
	overdue.Stop()
	if err == nil && line == readyLine+"\n" {
		return nil
	}
	_ = g.pipe.Close()
	_ = g.cmd.Process.Kill()
	end := g.cmd.Wait()
	return fmt.Errorf("start the guard: %q is none: it said %.200q, %w", strings.Join(g.cmd.Args, " "), line+g.said.String(), end)
}

func (g *Guard) watch() {
	g.end = g.cmd.Wait()
	close(g.gone)
}

// TempDir makes a directory that is removed by Close, or by the guard process if the lab does not get that far. The pattern is
// that of os.MkdirTemp without its star: the random part is appended.
func (g *Guard) TempDir(pattern string) (string, error) {
	// Registered before it exists, so that no moment is left in which nobody would remove it. The name cannot be anybody
	// else's: it has 128 random bits.
	dir, err := filepath.Abs(filepath.Join(os.TempDir(), pattern+rand.Text()))
	if err != nil {
		return "", fmt.Errorf("temporary directory: %w", err)
	}
	if strings.ContainsAny(dir, "\r\n") {
		return "", fmt.Errorf("temporary directory %q: its name must not hold a line break", dir)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return "", fmt.Errorf("temporary directory: %w", errClosed)
	}
	if err := g.tellLocked("dir", dir); err != nil {
		return "", fmt.Errorf("temporary directory: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		_ = g.tellLocked("forget dir", dir)
		return "", fmt.Errorf("temporary directory: %w", err)
	}
	g.dirs[dir] = struct{}{}
	return dir, nil
}

// RemoveDir removes a directory made by TempDir before Close does.
func (g *Guard) RemoveDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("temporary directory: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.dirs, dir)
	return g.tellLocked("forget dir", dir)
}

// Close kills everything that still runs, removes the directories, and waits for the guard process to end, which undoes the rest.
// Later calls do nothing.
func (g *Guard) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	running, dirs := slices.Collect(maps.Keys(g.running)), slices.Collect(maps.Keys(g.dirs))
	g.mu.Unlock()
	close(g.starts)

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	for _, p := range running {
		errs = append(errs, p.Kill(ctx))
	}
	for _, dir := range dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	errs = append(errs, g.dismiss())
	return errors.Join(errs...)
}

// dismiss ends the guard process. What could not be killed or removed above, it tries again.
func (g *Guard) dismiss() error {
	_ = g.pipe.Close()
	select {
	case <-g.gone:
	case <-time.After(patience):
		_ = g.cmd.Process.Kill()
		<-g.gone
		return errors.New("the guard process did not end by itself and was killed")
	}
	if g.end != nil {
		return g.ended()
	}
	return nil
}

// ended says how the guard process ended; it may be asked once gone is closed.
func (g *Guard) ended() error {
	how := "exit status 0"
	if g.end != nil {
		how = g.end.Error()
	}
	return errors.New(strings.TrimSpace("the guard process has ended: " + how + " " + g.said.String()))
}

// tellLocked writes one line to the guard process. What is written before the lab dies is read by the guard: a pipe keeps it.
func (g *Guard) tellLocked(verb string, what any) error {
	select {
	case <-g.gone:
		return g.ended()
	default:
	}
	if _, err := fmt.Fprintf(g.pipe, "%s %v\n", verb, what); err != nil {
		return fmt.Errorf("the guard process does not listen any more: %w", err)
	}
	return nil
}
