// Package redis is Redis as a server under test: embedded, a redis-server, one with replicas or as a cluster, or one at an address. It
// also reads, writes and deletes keys on the lab's behalf, and moves the servers' clocks.
//
// It owns their start, restart and reset. On a server that the lab did not start it must touch only the keys below a prefix. It must not know scripts or
// locks.
package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

const binary = "redis-server"

// Find looks for redis-server on this machine.
func Find() (path, version string, err error) {
	path, err = exec.LookPath(binary)
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", binary, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemon.Patience)
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

	cluster bool         // it is a node of a cluster, with a bus
	fate    *daemon.Fate // nil: one of its own
}

// Server is a redis-server process that the lab has started. Its methods may be called by several goroutines at once.
type Server struct {
	daemon.Daemon
	path    string
	options Options
	version string
}

// Start starts a redis-server on a free loopback port, in a temporary directory of its own and without automatic persistence, and
// returns once it answers. The context bounds the start only.
func Start(ctx context.Context, guard *process.Guard, options Options) (*Server, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w; install Redis, or use the embedded server", binary, err)
	}
	dir, err := guard.TempDir("locklab-redis-")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	r := newServer(guard, path, dir, options)
	if err := r.Open(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func newServer(guard *process.Guard, path, dir string, options Options) *Server {
	r := &Server{
		Daemon: daemon.Daemon{What: binary, Guard: guard, Dir: dir, Log: options.Log, Fate: options.fate},
		path:   path, options: options,
	}
	r.Command, r.Ready = r.run, r.answers
	return r
}

// run is the command.
func (r *Server) run(port string) (*exec.Cmd, error) {
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", r.Dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--logfile", ""}, r.options.Args...)
	if r.options.cluster {
		args = append(args, "--cluster-port", busPort(port))
	}
	return exec.Command(r.path, args...), nil
}

// answers is an error until the process itself answers, within its bound of memory: another process may listen at its address.
func (r *Server) answers(ctx context.Context, p *process.Process) error {
	about, err := ask(ctx, Plain(r.Addr()))
	if err == nil && about["process_id"] != strconv.Itoa(p.PID()) {
		err = errors.New("another redis-server answers")
	}
	if err != nil {
		return err
	}
	r.version = about["redis_version"]
	if r.options.Memory == 0 {
		return nil
	}
	// One that gets no more memory would write a report without end: the report needs memory, too.
	_ = patiently(ctx, r.Addr(), func(client redisclient.Client) error { // versions before 6.2 do not know it
		return client.ConfigSet(ctx, "crash-log-enabled", "no").Err()
	})
	return p.LimitMemory(r.options.Memory)
}

// Describe says what it is, with its version.
func (r *Server) Describe() string {
	return fmt.Sprintf("%s %s (started by the lab)", binary, r.version)
}

// dump is the file that a redis-server saves its data in, and reads when it starts.
const dump = "dump.rdb"

// Save runs SAVE: the process writes its data into its directory.
func (r *Server) Save(ctx context.Context) error {
	err := patiently(ctx, r.Addr(), func(client redisclient.Client) error { return client.Save(ctx).Err() })
	if err != nil {
		return fmt.Errorf("save %s: %w", binary, err)
	}
	return nil
}

// RestartEmpty kills the process and starts another at the same address, without data.
func (r *Server) RestartEmpty(ctx context.Context) error {
	return r.Restart(ctx, func() error { return remove(filepath.Join(r.Dir, dump)) })
}

// RestartSaved kills the process and starts another at the same address, with the data that was saved.
func (r *Server) RestartSaved(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.Dir, dump)); err != nil {
		return fmt.Errorf("restart %s: nothing is saved: %w", binary, err)
	}
	if err := r.Restart(ctx, func() error { return nil }); err != nil {
		return err
	}
	return remove(filepath.Join(r.Dir, dump))
}

// remove removes a file that need not be there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Stop has the process save its data, and kills it.
func (r *Server) Stop(ctx context.Context) error {
	if r.IsDown() {
		return fmt.Errorf("stop %s: %w", binary, daemon.ErrDown)
	}
	if err := r.Save(ctx); err != nil {
		return err
	}
	return r.Daemon.Stop(ctx)
}

// StartAgain starts a process at the same address with the data of the one that was stopped.
func (r *Server) StartAgain(ctx context.Context) error {
	if err := r.Daemon.StartAgain(ctx); err != nil {
		return err
	}
	return remove(filepath.Join(r.Dir, dump))
}
