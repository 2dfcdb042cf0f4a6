// Package etcd is etcd as a server under test: one member, which the lab starts.
//
// It owns its start, restart and reset, and looks at locks by its gateway for JSON. It must not know scripts or what clients send.
package etcd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Server is an etcd of one member that the lab has started. Its methods may be called by several goroutines at once.
type Server struct {
	daemon.Daemon
	name    string // of its member: no other has it
	version string
}

const binary = "etcd"

func installed() (string, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return "", fmt.Errorf("find etcd: %w; install Debian's package etcd-server", err)
	}
	return path, nil
}

// Find looks for etcd on this machine, and asks for its version. The error says how to get it.
func Find() (path, version string, err error) {
	if path, err = installed(); err != nil {
		return "", "", err
	}
	said, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w", path, err)
	}
	found := regexp.MustCompile(`etcd Version: (\S+)`).FindSubmatch(said)
	if found == nil {
		return "", "", fmt.Errorf("%s --version says %q", path, said)
	}
	return path, string(found[1]), nil
}

// Start starts an etcd on a free loopback port, in a temporary directory of its own, and returns once it answers. It appends its log to
// the file at the path; empty: one that ends with the server. The context bounds the start only.
func Start(ctx context.Context, guard *process.Guard, log string) (*Server, error) {
	path, err := installed()
	if err != nil {
		return nil, err
	}
	dir, err := guard.TempDir("locklab-etcd-")
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	e := &Server{Daemon: daemon.Daemon{What: binary, Guard: guard, Dir: dir, Log: log}, name: filepath.Base(dir)}
	e.Command = func(port string) (*exec.Cmd, error) { return e.run(path, port), nil }
	e.Ready = e.answers
	if err := e.Open(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// run is the command. Its member has no peers, so it listens for them where nobody looks. It counts time in ticks of 20 ms: the shortest lease
// is five and a half of them, rounded up to a second.
func (e *Server) run(path, port string) *exec.Cmd {
	const nobody = "http://127.0.0.1:0"
	here := "http://127.0.0.1:" + port
	cmd := exec.Command(path, "--name", e.name, "--data-dir", e.data(), "--listen-client-urls", here, "--advertise-client-urls", here,
		"--listen-peer-urls", nobody, "--initial-advertise-peer-urls", nobody, "--initial-cluster", e.name+"="+nobody,
		"--heartbeat-interval", "20", "--election-timeout", "100", "--logger", "zap", "--log-level", "warn", "--log-outputs", "stderr")
	// Whatever the user has set for an etcd of its own is not meant for this one.
	for _, one := range os.Environ() {
		if !strings.HasPrefix(one, "ETCD_") {
			cmd.Env = append(cmd.Env, one)
		}
	}
	return cmd
}

func (e *Server) data() string { return filepath.Join(e.Dir, "data") }

// answers is an error until a member of its name answers at the address.
func (e *Server) answers(ctx context.Context, _ *process.Process) error {
	var members struct {
		Members []struct {
			Name string `json:"name"`
		} `json:"members"`
	}
	if err := e.ask(ctx, "cluster/member/list", struct{}{}, &members); err != nil {
		return err
	}
	if len(members.Members) != 1 || members.Members[0].Name != e.name {
		return errors.New("another etcd answers")
	}
	return e.knowVersion(ctx)
}

// Questions are one: etcd answers it once a majority, here itself, has agreed.
func (e *Server) Questions() []server.Question {
	return []server.Question{func(ctx context.Context) error { return e.ask(ctx, "cluster/member/list", struct{}{}, new(struct{})) }}
}

// knowVersion asks for the version.
func (e *Server) knowVersion(ctx context.Context) error {
	text, err := e.http(ctx, http.MethodGet, "/version", nil)
	if err != nil {
		return err
	}
	var version struct {
		Server string `json:"etcdserver"`
	}
	err = json.Unmarshal(text, &version)
	e.version = version.Server
	return err
}

// Describe says what it is, with its version.
func (e *Server) Describe() string { return "etcd " + e.version + " (started by the lab)" }

// RestartEmpty kills the process and starts another at the same address, without data.
func (e *Server) RestartEmpty(ctx context.Context) error {
	return e.Restart(ctx, func() error { return os.RemoveAll(e.data()) })
}

// State is that of the lock below a key, as the recipe of etcd's client library keeps it: the oldest key below it has the lock, for as long as
// that one's lease.
func (e *Server) State(ctx context.Context, key string) (history.State, error) {
	var found struct {
		Kvs []struct {
			Key   []byte `json:"key"`
			Lease string `json:"lease"`
		} `json:"kvs"`
	}
	below := []byte(key + "/")
	beyond := append(bytes.Clone(below[:len(below)-1]), '/'+1)
	err := e.ask(ctx, "kv/range", map[string]any{
		"key": base64.StdEncoding.EncodeToString(below), "range_end": base64.StdEncoding.EncodeToString(beyond),
		"sort_order": "ASCEND", "sort_target": "CREATE", "limit": 1,
	}, &found)
	if err != nil || len(found.Kvs) == 0 {
		return history.State{}, err
	}
	state := history.State{Type: "key", Value: string(found.Kvs[0].Key)}
	if found.Kvs[0].Lease == "" {
		return state, nil
	}
	var lease struct {
		TTL string `json:"TTL"`
	}
	if err := e.ask(ctx, "lease/timetolive", map[string]any{"ID": found.Kvs[0].Lease}, &lease); err != nil {
		return history.State{}, err
	}
	seconds, err := strconv.Atoi(cmp.Or(lease.TTL, "0")) // fields that are zero are left out
	if err != nil {
		return history.State{}, fmt.Errorf("etcd names the time of a lease as %q", lease.TTL)
	}
	// Whole seconds, and it looks for what has expired twice in one: until then the lock is there.
	state.TTL = max(time.Duration(seconds)*time.Second, leastTTL)
	return state, nil
}

// leastTTL is the least time that a lock is said to have left: an etcd looks at times only for what has expired.
const leastTTL = 20 * time.Millisecond

// askTime bounds a question of the lab to an etcd.
const askTime = 5 * time.Second

// ask asks through etcd's gateway for JSON.
func (e *Server) ask(ctx context.Context, what string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	text, err := e.http(ctx, http.MethodPost, "/v3/"+what, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

func (e *Server) http(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+e.Addr()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd answers %s: %s", response.Status, bytes.TrimSpace(text))
	}
	return text, err
}
