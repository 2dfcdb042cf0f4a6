package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/redisclient"
)

const binary = "redis-server"

// FindRedis looks for redis-server on this machine.
func FindRedis() (path, version string, err error) {
	path, err = exec.LookPath(binary)
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", binary, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w", path, err)
	}
	found := regexp.MustCompile(`\bv=(\S+)`).FindSubmatch(out)
	if found == nil {
		return "", "", fmt.Errorf("%s --version: no version in %.80q", path, out)
	}
	return path, string(found[1]), nil
}

// Options say how to start a redis-server.
type Options struct {
	// Log is the path of the file to append the log to; empty: one that ends with the server.
	Log string
	// Memory bounds, in bytes, what the process may allocate, where the operating system can; zero: nothing does.
	Memory uint64
	// Args are further arguments of redis-server.
	Args []string

	config  string // the name of a configuration file that the process rewrites; empty: none
	cluster bool   // it is a node of a cluster, with a bus
	fate    *fate  // nil: one of its own
}

// Redis is a redis-server process that the lab has started. Its methods may be called by several goroutines at once.
type Redis struct {
	guard   *process.Guard
	path    string
	dir     string
	log     string
	args    []string
	config  string // the path of a file, relative to dir; empty: none
	cluster bool
	addr    string
	version string
	memory  uint64
	*fate

	mu      sync.Mutex
	process *process.Process
	closed  bool
	ending  bool         // the lab ends the process
	down    *placeholder // nil: it is up
}

// StartRedis starts a redis-server on a free loopback port, in a temporary directory of its own and without automatic persistence, and
// returns once it answers. The context bounds the start only.
func StartRedis(ctx context.Context, guard *process.Guard, options Options) (*Redis, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w; install Redis, or use the embedded server", binary, err)
	}
	dir, err := guard.TempDir("locklab-redis-")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	r := newRedis(guard, path, dir, options)
	err = onFreePort(func(port int) (bool, error) {
		r.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return r.start(ctx)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", binary, err), guard.RemoveDir(dir))
	}
	return r, nil
}

func newRedis(guard *process.Guard, path, dir string, options Options) *Redis {
	r := &Redis{guard: guard, path: path, dir: dir, log: options.Log, args: options.Args, config: options.config, cluster: options.cluster, memory: options.Memory, fate: options.fate}
	if r.fate == nil {
		r.fate = newFate()
	}
	if r.log == "" {
		r.log = filepath.Join(dir, "log") // it says why a server has ended
	}
	return r
}

// start starts the process at r.addr and waits until it answers. After an error no process is left.
func (r *Redis) start(ctx context.Context) (taken bool, err error) {
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	defer log.Close()
	logged, err := log.Seek(0, 2)
	if err != nil {
		return false, err
	}
	_, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		return false, err
	}
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", r.dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--logfile", ""}, r.args...)
	if r.cluster {
		args = append(args, "--cluster-port", busPort(port))
	}
	if r.config != "" {
		file := filepath.Join(r.dir, r.config)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return false, err
		}
		args = append([]string{file}, args...)
	}
	cmd := exec.Command(r.path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, log, log
	p, err := r.guard.Start(cmd)
	if err != nil {
		return false, err
	}
	if err = r.awaitReady(ctx, p); err == nil && r.memory > 0 {
		err = r.limit(ctx, p)
	}
	if err != nil {
		_ = p.Kill(context.WithoutCancel(ctx))
		last := lastLines(r.log, logged)
		return strings.Contains(last, "Address already in use"), fmt.Errorf("%w%s", err, last)
	}
	r.process, r.ending = p, false
	go r.watch(p)
	return false, nil
}

// limit bounds the memory of the process. One that gets no more would write a report without end: the report needs memory, too.
func (r *Redis) limit(ctx context.Context, p *process.Process) error {
	_ = patiently(ctx, r.addr, func(client redisclient.Client) error { // versions before 6.2 do not know it
		return client.ConfigSet(ctx, "crash-log-enabled", "no").Err()
	})
	return p.LimitMemory(r.memory)
}

// watch notices that the process ends against the lab's will.
func (r *Redis) watch(p *process.Process) {
	<-p.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == p && !r.ending {
		r.ending = true
		r.meet(p.State())
	}
}

// awaitReady asks until the process itself answers: another process may listen at its address.
func (r *Redis) awaitReady(ctx context.Context, p *process.Process) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		about, err := ask(ctx, Plain(r.addr))
		if err == nil && about["process_id"] == strconv.Itoa(p.PID()) {
			r.version = about["redis_version"]
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

// lastLines returns the last five lines of a log beyond the offset, each after a line break.
func lastLines(path string, offset int64) string {
	text := logged(path, offset)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "\n" + strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// logged is what was written to a log from an offset on.
func logged(path string, offset int64) string {
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) <= offset {
		return ""
	}
	return strings.TrimSpace(string(text[offset:]))
}

// Addr is where it listens.
func (r *Redis) Addr() string { return r.addr }

// Describe says what it is, with its version.
func (r *Redis) Describe() string {
	return fmt.Sprintf("%s %s (started by the lab)", binary, r.version)
}

// dump is the file that a redis-server saves its data in, and reads when it starts.
const dump = "dump.rdb"

// Save runs SAVE: the process writes its data into its directory.
func (r *Redis) Save(ctx context.Context) error {
	err := patiently(ctx, r.addr, func(client redisclient.Client) error { return client.Save(ctx).Err() })
	if err != nil {
		return fmt.Errorf("save %s: %w", binary, err)
	}
	return nil
}

// RestartEmpty kills the process and starts another at the same address, without data.
func (r *Redis) RestartEmpty(ctx context.Context) error {
	return r.restart(ctx, func() error { return remove(filepath.Join(r.dir, dump)) })
}

// RestartSaved kills the process and starts another at the same address, with the data that was saved.
func (r *Redis) RestartSaved(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.dir, dump)); err != nil {
		return fmt.Errorf("restart %s: nothing is saved: %w", binary, err)
	}
	if err := r.restart(ctx, func() error { return nil }); err != nil {
		return err
	}
	return remove(filepath.Join(r.dir, dump))
}

// remove removes a file that need not be there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// restart kills the process, calls between, and starts another process at the same address.
func (r *Redis) restart(ctx context.Context, between func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.kill(ctx)
	if err == nil {
		err = between()
	}
	if err == nil {
		err = onSamePort(ctx, func() (bool, error) { return r.start(ctx) })
	}
	if err != nil {
		return fmt.Errorf("restart %s: %w", binary, err)
	}
	return nil
}

// kill ends the process for a while.
func (r *Redis) kill(ctx context.Context) error {
	switch {
	case r.closed:
		return errors.New("it is closed")
	case r.down != nil:
		return errDown
	}
	r.ending = true
	return r.process.Kill(ctx)
}

// Stop has the process save its data, and kills it.
func (r *Redis) Stop(ctx context.Context) error {
	if r.isDown() {
		return fmt.Errorf("stop %s: %w", binary, errDown)
	}
	if err := r.Save(ctx); err != nil {
		return err
	}
	return r.halt(ctx)
}

// halt kills the process until StartAgain.
func (r *Redis) halt(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.kill(ctx)
	if err == nil {
		r.down, err = keepPlace(ctx, r.addr)
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", binary, err)
	}
	return nil
}

// StartAgain starts a process at the same address with the data of the one that was stopped.
func (r *Redis) StartAgain(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down == nil {
		return fmt.Errorf("start %s again: %w", binary, errNotDown)
	}
	r.down.leave()
	r.down = nil
	err := onSamePort(ctx, func() (bool, error) { return r.start(ctx) })
	if err == nil {
		err = remove(filepath.Join(r.dir, dump))
	}
	if err != nil {
		return fmt.Errorf("start %s again: %w", binary, err)
	}
	return nil
}

// Close kills the process and removes its directory. Later calls do nothing.
func (r *Redis) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed, r.ending = true, true
	r.down.leave()
	r.down = nil
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(r.process.Kill(ctx), r.guard.RemoveDir(r.dir))
}
