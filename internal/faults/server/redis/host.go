package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Host is a process that runs embedded servers. A panic, an endless script or a full memory ends or fills that process, not the lab. Its
// methods may be called by several goroutines at once.
type Host struct {
	process *process.Process
	calls   *rpc.Client
	said    *head
}

// StartHost starts the process. argv is the command that calls HostMain. memory bounds, in bytes, what the process may allocate, where the
// operating system can; zero: nothing does.
func StartHost(guard *process.Guard, argv []string, memory uint64) (_ *Host, err error) {
	childIn, toChild, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a host of embedded servers: %w", err)
	}
	defer childIn.Close()
	fromChild, childOut, err := os.Pipe()
	if err != nil {
		toChild.Close()
		return nil, fmt.Errorf("start a host of embedded servers: %w", err)
	}
	defer childOut.Close()
	said, childErr, err := keepHead()
	if err != nil {
		return nil, errors.Join(err, toChild.Close(), fromChild.Close())
	}
	defer childErr.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, childErr
	h := &Host{said: said}
	if h.process, err = guard.Start(cmd); err == nil && memory > 0 {
		err = h.process.LimitMemory(memory)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a host of embedded servers: %w", err), toChild.Close(), fromChild.Close())
	}
	h.calls = rpc.NewClient(pipes{fromChild, toChild})
	return h, nil
}

// pipes is both directions of a host's connection.
type pipes struct {
	io.ReadCloser
	to io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.to.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.to.Close(), p.ReadCloser.Close()) }

// Start starts an empty embedded server in the process.
func (h *Host) Start(ctx context.Context) (*Hosted, error) {
	s := &Hosted{host: h}
	if err := h.call(ctx, "Start", "", &s.addr); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Describe(), err)
	}
	return s, nil
}

// call has the process do something. It returns when ctx ends, also while the process hangs.
func (h *Host) call(ctx context.Context, what, addr string, reply *string) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	answered := h.calls.Go(hostName+"."+what, addr, reply, make(chan *rpc.Call, 1)).Done
	select {
	case call := <-answered:
		var refusal rpc.ServerError
		if call.Error == nil || errors.As(call.Error, &refusal) {
			return call.Error
		}
		return h.broken(ctx, call.Error)
	case <-ctx.Done():
		return fmt.Errorf("its process does not answer: %w", context.Cause(ctx))
	}
}

// broken says why the connection no longer carries calls: in whatever way that showed first, the process has usually ended.
func (h *Host) broken(ctx context.Context, err error) error {
	select {
	case <-h.process.Done():
		return errors.New("its process has ended: " + h.End())
	case <-ctx.Done():
		return fmt.Errorf("its process takes no calls: %w", err)
	}
}

// End says how the process ended, with the first line of its standard error: "exit status 2: panic: …".
func (h *Host) End() string {
	how := h.process.State()
	if line := h.said.line(); line != "" {
		how += ": " + line
	}
	return how
}

// Close kills the process and all servers in it.
func (h *Host) Close() error {
	err := h.process.Kill(context.Background())
	_ = h.calls.Close() // the process has closed its ends
	return err
}

// Hosted is an embedded server in a process of its own, or one that it shares with others.
type Hosted struct {
	host *Host
	addr string
}

// Addr is where it listens.
func (s *Hosted) Addr() string { return s.addr }

// Describe says what it is, with its version.
func (s *Hosted) Describe() string { return (&Embedded{}).Describe() }

// RestartEmpty breaks all connections and starts again at the same address, without data.
func (s *Hosted) RestartEmpty(ctx context.Context) error {
	return s.host.call(ctx, "RestartEmpty", s.addr, new(string))
}

// Save keeps a copy of database 0. Keys expire in the copy, too.
func (s *Hosted) Save(ctx context.Context) error {
	return s.host.call(ctx, "Save", s.addr, new(string))
}

// RestartSaved breaks all connections and starts again at the same address, with the data that was saved.
func (s *Hosted) RestartSaved(ctx context.Context) error {
	return s.host.call(ctx, "RestartSaved", s.addr, new(string))
}

// Stop breaks all connections and ends the server. It keeps its data.
func (s *Hosted) Stop(ctx context.Context) error {
	return s.host.call(ctx, "Stop", s.addr, new(string))
}

// StartAgain starts the server at the same address, with the data that it had.
func (s *Hosted) StartAgain(ctx context.Context) error {
	return s.host.call(ctx, "StartAgain", s.addr, new(string))
}

// Close ends the server. The process goes on.
func (s *Hosted) Close() error {
	return s.host.call(context.Background(), "Close", s.addr, new(string))
}

// Died is closed when the server's process has ended.
func (s *Hosted) Died() <-chan struct{} { return s.host.process.Done() }

// End says how the server's process ended.
func (s *Hosted) End() string { return s.host.End() }

// hostName is the name of the service in a host process.
const hostName = "Host"

// HostMain is the main function of a host process. It returns when its input ends.
func HostMain(stdin io.ReadCloser, stdout io.WriteCloser) error {
	calls := rpc.NewServer()
	if err := calls.RegisterName(hostName, &Service{servers: make(map[string]*Embedded)}); err != nil {
		return err
	}
	calls.ServeConn(pipes{stdin, stdout})
	return nil
}

// Service is what a host process can do, each method for the server at an address. It is exported for net/rpc only.
type Service struct {
	mu      sync.Mutex
	servers map[string]*Embedded
}

// Start starts a server and replies with its address.
func (s *Service) Start(_ string, addr *string) error {
	started, err := StartEmbedded()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[started.Addr()] = started
	*addr = started.Addr()
	return nil
}

// RestartEmpty is Embedded.RestartEmpty.
func (s *Service) RestartEmpty(addr string, _ *string) error {
	return s.with(addr, func(e *Embedded) error { return e.RestartEmpty(context.Background()) })
}

// Save is Embedded.Save.
func (s *Service) Save(addr string, _ *string) error {
	return s.with(addr, func(e *Embedded) error { return e.Save(context.Background()) })
}

// RestartSaved is Embedded.RestartSaved.
func (s *Service) RestartSaved(addr string, _ *string) error {
	return s.with(addr, func(e *Embedded) error { return e.RestartSaved(context.Background()) })
}

// Stop is Embedded.Stop.
func (s *Service) Stop(addr string, _ *string) error {
	return s.with(addr, func(e *Embedded) error { return e.Stop(context.Background()) })
}

// StartAgain is Embedded.StartAgain.
func (s *Service) StartAgain(addr string, _ *string) error {
	return s.with(addr, func(e *Embedded) error { return e.StartAgain(context.Background()) })
}

// Close ends the server for good. Later calls do nothing.
func (s *Service) Close(addr string, _ *string) error {
	s.mu.Lock()
	e := s.servers[addr]
	delete(s.servers, addr)
	s.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.Close()
}

func (s *Service) with(addr string, do func(*Embedded) error) error {
	s.mu.Lock()
	e := s.servers[addr]
	s.mu.Unlock()
	if e == nil {
		return fmt.Errorf("no server at %q: it is closed", addr)
	}
	return do(e)
}

// head keeps the beginning of a process's standard error.
type head struct {
	done chan struct{}
	text strings.Builder // valid once done is closed
}

// maxHead is how much of a process's standard error is kept, in bytes.
const maxHead = 4 << 10

// keepHead returns the process's end of a pipe; the caller closes it once the process has started.
func keepHead() (*head, *os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	h := &head{done: make(chan struct{})}
	go func() {
		defer close(h.done)
		defer from.Close()
		_, _ = io.CopyN(&h.text, from, maxHead)
		_, _ = io.Copy(io.Discard, from)
	}()
	return h, to, nil
}

// line is the first line, once the process has ended.
func (h *head) line() string {
	<-h.done
	line, _, _ := strings.Cut(h.text.String(), "\n")
	return line
}
