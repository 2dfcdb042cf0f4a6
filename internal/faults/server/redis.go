package server

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
	daemon
	path    string
	args    []string
	config  string // the name of a file in its directory; empty: none
	cluster bool
	memory  uint64
	version string
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
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func newRedis(guard *process.Guard, path, dir string, options Options) *Redis {
	r := &Redis{
		daemon: daemon{what: binary, guard: guard, dir: dir, log: options.Log, fate: options.fate},
		path:   path, args: options.Args, config: options.config, cluster: options.cluster, memory: options.Memory,
	}
	r.command, r.ready = r.run, r.answers
	return r
}

// run is the command.
func (r *Redis) run(port string) (*exec.Cmd, error) {
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", r.dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--logfile", ""}, r.args...)
	if r.cluster {
		args = append(args, "--cluster-port", busPort(port))
	}
	if r.config != "" {
		file := filepath.Join(r.dir, r.config)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return nil, err
		}
		args = append([]string{file}, args...)
	}
	return exec.Command(r.path, args...), nil
}

// answers is an error until the process itself answers, within its bound of memory: another process may listen at its address.
func (r *Redis) answers(ctx context.Context, p *process.Process) error {
	about, err := ask(ctx, Plain(r.Addr()))
	if err == nil && about["process_id"] != strconv.Itoa(p.PID()) {
		err = errors.New("another redis-server answers")
	}
	if err != nil {
		return err
	}
	r.version = about["redis_version"]
	if r.memory == 0 {
		return nil
	}
	// One that gets no more memory would write a report without end: the report needs memory, too.
	_ = patiently(ctx, r.Addr(), func(client redisclient.Client) error { // versions before 6.2 do not know it
		return client.ConfigSet(ctx, "crash-log-enabled", "no").Err()
	})
	return p.LimitMemory(r.memory)
}

// Describe says what it is, with its version.
func (r *Redis) Describe() string {
	return fmt.Sprintf("%s %s (started by the lab)", binary, r.version)
}

// dump is the file that a redis-server saves its data in, and reads when it starts.
const dump = "dump.rdb"

// Save runs SAVE: the process writes its data into its directory.
func (r *Redis) Save(ctx context.Context) error {
	err := patiently(ctx, r.Addr(), func(client redisclient.Client) error { return client.Save(ctx).Err() })
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

// Stop has the process save its data, and kills it.
func (r *Redis) Stop(ctx context.Context) error {
	if r.isDown() {
		return fmt.Errorf("stop %s: %w", binary, errDown)
	}
	if err := r.Save(ctx); err != nil {
		return err
	}
	return r.daemon.Stop(ctx)
}

// StartAgain starts a process at the same address with the data of the one that was stopped.
func (r *Redis) StartAgain(ctx context.Context) error {
	if err := r.daemon.StartAgain(ctx); err != nil {
		return err
	}
	return remove(filepath.Join(r.dir, dump))
}
