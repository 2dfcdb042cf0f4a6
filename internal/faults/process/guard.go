// Package process starts, pauses, resumes and kills the processes of a run (clients, servers), so that none of them outlives the lab.
// Linux and macOS; elsewhere it compiles, and StartGuard returns an error.
//
// Each process leads a process group of its own, which a guard process knows: the lab's own binary at the end of a pipe. When
// the pipe ends, whatever ended the lab, the guard kills the groups, removes the temporary directories, and runs the registered undos.
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

// patience bounds the start and the end of the guard process. It must not fire by accident on a loaded machine.
const patience = 20 * time.Second

// markVar is the environment variable that marks every process of a lab, so that the guard also finds those that the lab had no time to
// register.
const markVar = "LOCKLAB_GUARD"

var errClosed = errors.New("the guard is closed")

// Guard starts processes and makes temporary directories that end with the lab. It is safe for concurrent use.
type Guard struct {
	cmd    *exec.Cmd
	mark   string   // markVar with this guard's value
	tag    *os.File // inherited by every process, as a mark that no environment hides; nil: the system has none
	pipe   io.WriteCloser
	stderr *bytes.Buffer // valid once gone is closed
	gone   chan struct{} // closed when the guard process has ended
	end    error         // how it ended; valid once gone is closed
	starts chan startRequest

	mu      sync.Mutex // held while a line is written, and over the fields below
	closed  bool
	orphans *orphanage   // nil: this process adopts none
	outside map[int]bool // the processes of commands that are not the lab's
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
	value := rand.Text()
	mark := markVar + "=" + value
	cmd.Env = append(cmd.Environ(), mark)
	tag, err := newTag(value)
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	g := &Guard{
		cmd:     cmd,
		mark:    mark,
		tag:     tag,
		stderr:  &bytes.Buffer{},
		gone:    make(chan struct{}),
		starts:  make(chan startRequest),
		running: map[*Process]struct{}{},
		dirs:    map[string]struct{}{},
	}
	if err := g.startProcess(); err != nil {
		return nil, errors.Join(err, g.closeTag())
	}
	go g.watch()
	go g.starter()
	return g, nil
}

// startProcess starts the guard process and waits until it guards.
func (g *Guard) startProcess() error {
	pipe, err := g.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	g.pipe = pipe
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	g.cmd.Stderr = g.stderr
	if err := g.cmd.Start(); err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	return g.awaitReady(out)
}

// awaitReady waits for the first line of the guard process, so that a wrong command is noticed before the guard is needed.
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
	return fmt.Errorf("start the guard: %q is none: it wrote %.200q, %w", strings.Join(g.cmd.Args, " "), line+g.stderr.String(), end)
}

func (g *Guard) watch() {
	g.end = g.cmd.Wait()
	close(g.gone)
}

// TempDir makes a directory that is removed by Close, or by the guard process if the lab does not get that far. The pattern is
// that of os.MkdirTemp without its star: the random part is appended.
func (g *Guard) TempDir(pattern string) (string, error) {
	// Registered before it exists: the lab may be killed at any moment. The name is unique: it has 128 random bits.
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
	if g.orphans != nil {
		errs = append(errs, g.orphans.close())
	}
	for _, dir := range dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	errs = append(errs, g.closeTag(), g.dismiss())
	return errors.Join(errs...)
}

// closeTag gives up this process's own copy of the tag: the guard process kills whoever has one.
func (g *Guard) closeTag() error {
	if g.tag == nil {
		return nil
	}
	return g.tag.Close()
}

// dismiss ends the guard process, which tries once more to kill and remove what Close could not.
func (g *Guard) dismiss() error {
	select {
	case <-g.gone:
		_ = g.pipe.Close()
		return g.ended()
	default:
	}
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

// ended says how the guard process ended. Call it once gone is closed.
func (g *Guard) ended() error {
	how := "exit status 0"
	if g.end != nil {
		how = g.end.Error()
	}
	return errors.New(strings.TrimSpace("the guard process has ended: " + how + " " + g.stderr.String()))
}

// tellLocked writes one line to the guard process, which reads it even if the lab dies at once: the pipe keeps it.
func (g *Guard) tellLocked(verb string, what any) error {
	select {
	case <-g.gone:
		return g.ended()
	default:
	}
	if _, err := fmt.Fprintf(g.pipe, "%s %v\n", verb, what); err != nil {
		return fmt.Errorf("the guard process no longer reads: %w", err)
	}
	return nil
}
