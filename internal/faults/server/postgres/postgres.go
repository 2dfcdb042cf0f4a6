// Package postgres is PostgreSQL as a server under test, which the lab starts.
//
// It owns its database cluster, start and restart, and looks at locks by a reader of its protocol that is enough for that. It must not know scripts or
// what clients send.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Server is a PostgreSQL that the lab has started. Its methods may be called by several goroutines at once.
type Server struct {
	daemon.Daemon
	home *Home
	kept atomic.Pointer[pgConn] // for Questions; nil: there is none
}

// Home is a PostgreSQL that this machine has, with an empty database cluster, of which each server gets a copy.
type Home struct {
	guard   *process.Guard
	bin     string
	version string
	as      *account // nil: the lab's own user
	dir     string   // with the cluster
}

// account is another user, since PostgreSQL refuses to run as root.
type account struct {
	setpriv string
	name    string
	uid     int
	gid     int
}

// Find looks for PostgreSQL on this machine, and for a user who may run it. The error says what is missing, and how to get it.
func Find() (path, version string, err error) {
	bin, err := programs()
	if err != nil {
		return "", "", err
	}
	if _, err := otherThanRoot(); err != nil {
		return "", "", err
	}
	path = filepath.Join(bin, "postgres")
	said, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w", path, err)
	}
	_, version, _ = strings.Cut(strings.TrimSpace(string(said)), ") ")
	version, _, _ = strings.Cut(version, " ")
	return path, version, nil
}

// programs is the directory of PostgreSQL's programs, the newest where Debian has several versions.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well-formed
	if len(found) == 0 {
		return "", errors.New("find PostgreSQL: there is no initdb; install Debian's package postgresql")
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return majorOf(a) - majorOf(b) })), nil
}

// majorOf is the version in a path like /usr/lib/postgresql/15/bin/initdb.
func majorOf(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // zero: none
	return n
}

// otherThanRoot is a user to run PostgreSQL as, if the lab runs as root; else nil.
func otherThanRoot() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no setpriv to run it as another user: %w", err)
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(found.Uid)
		gid, errGID := strconv.Atoi(found.Gid)
		return &account{setpriv, name, uid, gid}, errors.Join(errUID, errGID)
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
}

// command is a program of PostgreSQL, run by the user.
func (h *Home) command(path string, args ...string) *exec.Cmd {
	argv := append([]string{path}, args...)
	if h.as != nil {
		// The signal that ends it with the lab would be lost with the change of user.
		argv = append([]string{h.as.setpriv, "--reuid", strconv.Itoa(h.as.uid), "--regid", strconv.Itoa(h.as.gid), "--clear-groups", "--pdeathsig", "KILL", "--"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	// Whatever the user has set for a PostgreSQL of its own is not meant for this one.
	for _, one := range os.Environ() {
		if !strings.HasPrefix(one, "PG") && !strings.HasPrefix(one, "LC_") && !strings.HasPrefix(one, "LANG") {
			cmd.Env = append(cmd.Env, one)
		}
	}
	return cmd
}

// tempDir is a directory of the user's.
func (h *Home) tempDir() (string, error) {
	dir, err := h.guard.TempDir("locklab-postgres-")
	if err != nil || h.as == nil {
		return dir, err
	}
	if err := os.Chown(dir, h.as.uid, h.as.gid); err != nil {
		return "", errors.Join(err, h.guard.RemoveDir(dir))
	}
	return dir, nil
}

// Open makes an empty database cluster in a temporary directory. Close removes it.
func Open(ctx context.Context, guard *process.Guard) (_ *Home, err error) {
	h := &Home{guard: guard}
	if h.bin, err = programs(); err != nil {
		return nil, err
	}
	if h.as, err = otherThanRoot(); err != nil {
		return nil, err
	}
	if h.dir, err = h.tempDir(); err != nil {
		return nil, fmt.Errorf("make a PostgreSQL cluster: %w", err)
	}
	err = h.run(ctx, h.dir, h.command(filepath.Join(h.bin, "initdb"), "--pgdata", filepath.Join(h.dir, "data"), "--username", pgUser, "--auth", "trust",
		"--no-sync", "--no-instructions", "--locale", "C", "--encoding", "UTF8"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a PostgreSQL cluster: %w", err), h.Close())
	}
	text, err := os.ReadFile(filepath.Join(h.dir, "data", "PG_VERSION"))
	h.version = strings.TrimSpace(string(text))
	return h, err
}

// run runs a program to its end. What it says goes to a file beside.
func (h *Home) run(ctx context.Context, dir string, cmd *exec.Cmd) error {
	path := filepath.Join(dir, "said")
	said, err := os.Create(path)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, said, said
	p, err := h.guard.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Kill(context.WithoutCancel(ctx)))
	}
	if err := p.Err(); err != nil {
		hint := ""
		if h.as != nil {
			hint = fmt.Sprintf(" (as user %s, who must be able to enter %s)", h.as.name, filepath.Dir(dir))
		}
		return fmt.Errorf("%w%s%s", err, hint, daemon.LastLines(path, 0))
	}
	return nil
}

// Close removes the cluster. Servers have copies.
func (h *Home) Close() error { return h.guard.RemoveDir(h.dir) }

// Describe says what its servers are, with their major version.
func (h *Home) Describe() string { return "PostgreSQL " + h.version + " (started by the lab)" }

// Start starts a server on a free loopback port, in a temporary directory of its own, and returns once it answers. It appends its log to the
// file at the path; empty: one that ends with the server. The context bounds the start only.
func (h *Home) Start(ctx context.Context, log string) (*Server, error) {
	dir, err := h.tempDir()
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s := &Server{Daemon: daemon.Daemon{What: "PostgreSQL", Guard: h.guard, Dir: dir, Log: log}, home: h}
	s.Command, s.Ready, s.Quit, s.Busy = s.run, s.isReady, s.abort, "pre-existing shared memory block"
	if err := s.copy(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w", err), h.guard.RemoveDir(dir))
	}
	if err := s.Open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// copy makes the server's cluster: an empty one.
func (s *Server) copy(ctx context.Context) error {
	cp, err := exec.LookPath("cp")
	if err != nil {
		return err
	}
	return s.home.run(ctx, s.Dir, s.home.command(cp, "-R", "-p", filepath.Join(s.home.dir, "data"), s.data()))
}

// run is the command. Its data need not outlive the machine, so it forces nothing to the disk; they do outlive its process. So would dynamic shared memory,
// but for that in a file of its directory.
func (s *Server) run(port string) (*exec.Cmd, error) {
	return s.home.command(filepath.Join(s.home.bin, "postgres"), "-D", s.data(), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=100", "-c", "shared_buffers=4MB", "-c", "max_wal_size=64MB",
		"-c", "autovacuum=off", "-c", "log_min_messages=warning", "-c", "dynamic_shared_memory_type=mmap"), nil
}

// abort has the server end as in a crash, without a checkpoint. It ends its processes first: they are in groups of their own, and would answer, and write
// to its data, for some time after it was killed.
func (s *Server) abort(ctx context.Context) error {
	return s.home.run(ctx, s.Dir, s.home.command(filepath.Join(s.home.bin, "pg_ctl"), "stop", "--mode", "immediate", "--no-wait", "--silent", "--pgdata", s.data()))
}

// isReady is an error until it answers. From then on its segment of shared memory is free as soon as its last process has ended, however that ends.
func (s *Server) isReady(ctx context.Context, _ *process.Process) error {
	err := s.answers(ctx)
	if err == nil {
		s.freeMemory(ctx, s.segment())
	}
	return err
}

// answers is an error until the server of this very directory answers.
func (s *Server) answers(ctx context.Context) error {
	return s.isThis(pgQuery(ctx, s.Addr(), which))
}

const which = "show data_directory"

// isThis takes in the answer to that.
func (s *Server) isThis(rows [][]string, err error) error {
	if err == nil && (len(rows) != 1 || rows[0][0] != s.data()) {
		err = errors.New("another PostgreSQL answers")
	}
	return err
}

// Questions are one. It keeps its connection from time to time, since the server starts a process for each.
func (s *Server) Questions() []server.Question { return []server.Question{s.asks} }

func (s *Server) asks(ctx context.Context) (err error) {
	conn := s.kept.Load()
	if conn == nil {
		if conn, err = pgDial(ctx, s.Addr()); err != nil {
			return err
		}
		s.kept.Store(conn)
	}
	if err = s.isThis(conn.query(ctx, which)); err != nil {
		s.hangUp()
	}
	return err
}

// hangUp ends the connection that is kept.
func (s *Server) hangUp() {
	if conn := s.kept.Swap(nil); conn != nil {
		_ = conn.Close() // no more is asked on it
	}
}

// Describe says what it is, with its major version.
func (s *Server) Describe() string { return s.home.Describe() }

// RestartEmpty kills the process and starts another at the same address, without data.
func (s *Server) RestartEmpty(ctx context.Context) error {
	return s.Restart(ctx, func() error {
		if err := os.RemoveAll(s.data()); err != nil {
			return err
		}
		return s.copy(ctx)
	})
}

// Close ends the process, and removes its directory.
func (s *Server) Close() error {
	defer s.hangUp()
	return s.Daemon.Close()
}

// segment is the number of the server's segment of shared memory, from the file in which it keeps that; empty: it has none.
func (s *Server) segment() string {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return ""
	}
	const at = 6 // PID, directory, start, port, socket directory, address; then key and number
	lines := strings.Split(string(text), "\n")
	if len(lines) <= at {
		return ""
	}
	fields := strings.Fields(lines[at])
	if len(fields) != 2 {
		return ""
	}
	return fields[1]
}

// freeMemory frees a segment of shared memory, which would outlive its processes, once none of them has it any more.
func (s *Server) freeMemory(ctx context.Context, segment string) {
	ipcrm, err := exec.LookPath("ipcrm")
	if segment == "" || err != nil {
		return
	}
	p, err := s.Guard.Start(s.home.command(ipcrm, "-m", segment))
	if err != nil {
		return
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
	}
}

// State is that of the lock of a key: of the advisory lock that has its hash for a number, or of the row of its name in the table of locks. The
// value is the process of the server that serves its holder.
func (s *Server) State(ctx context.Context, key string) (history.State, error) {
	name := "'" + strings.ReplaceAll(key, "'", "''") + "'"
	advisory := "select pid from pg_locks where locktype = 'advisory' and granted and ((classid::bigint << 32) | objid::bigint) = hashtextextended(" + name + ", 0)"
	rows, err := pgQuery(ctx, s.Addr(), advisory)
	if err == nil && len(rows) == 0 {
		rows, err = s.rowLocked(ctx, name)
	}
	if err != nil || len(rows) == 0 {
		return history.State{}, err
	}
	return history.State{Type: "lock", Value: rows[0][0]}, nil
}

// rowLocked looks for who has the row of a lock: its transaction is under way.
func (s *Server) rowLocked(ctx context.Context, name string) ([][]string, error) {
	there, err := pgQuery(ctx, s.Addr(), "select 1 from pg_tables where tablename = 'locks'")
	if err != nil || len(there) == 0 {
		return nil, err
	}
	return pgQuery(ctx, s.Addr(), "select l.pid from pg_locks l join locks on locks.xmax = l.transactionid where l.locktype = 'transactionid' and l.granted and locks.name = "+name)
}
