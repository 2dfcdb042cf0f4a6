package live

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/locklab/locklab/internal/scenarios/live/service"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// maxMemory bounds what the servers of a foreign client may allocate, in bytes: a process of embedded servers, or a redis-server.
const maxMemory = 768 << 20

// isolation is what the cell of a foreign client has to itself where the lab starts the servers: all of its servers but a ZooKeeper, in
// processes that no other cell uses before or after. Whatever the client does to them, it does to its own cell. The lab's own clients send
// known commands; their cells share servers, one after another, which saves the starts.
type isolation struct {
	world *World
	host  *redis.Host // of embedded servers; nil before the first, and for redis-server
}

// isolate gives the cell of a foreign client servers of its own.
func (w *World) isolate(subject play.Subject) *isolation {
	if subject.Argv == nil || !w.startsServers() && w.cfg.Restart == "" {
		return nil
	}
	return &isolation{world: w}
}

// open starts the process of the cell's embedded servers.
func (i *isolation) open() (err error) {
	if i != nil && i.world.kind.Embeds {
		i.host, err = redis.StartHost(i.world.guard, i.world.cfg.Host, maxMemory)
	}
	return err
}

// start starts a server. Nobody uses it again.
func (i *isolation) start(ctx context.Context, log string) (*service.Spare, error) {
	s, err := i.world.ownServer(ctx, i.host, maxMemory)
	if err != nil {
		return nil, err
	}
	if err := s.LinkLog(log); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// close ends the servers, hanging or not.
func (i *isolation) close() error {
	if i == nil {
		return nil
	}
	var errs []error
	if i.host != nil {
		errs = append(errs, i.host.Close())
	}
	return errors.Join(errs...)
}

// mind ends the cell when a server ends against the lab's will, and records when it gives no answer.
func (c *cell) mind(ctx context.Context, name string, s server.Server) {
	if answerer, ok := s.(server.Answerer); ok && s != c.world.keeper {
		for _, ask := range answerer.Questions() {
			go c.stage.late.Attend(ctx, ask)
		}
	}
	mortal, ok := s.(server.Mortal)
	if !ok {
		return
	}
	c.mortals = append(c.mortals, mortality{name, s.Addr(), mortal})
	go func() {
		select {
		case <-mortal.Died():
			c.spoil(c.death(name, mortal))
		case <-ctx.Done():
		}
	}()
}

// mortality is a server that may end.
type mortality struct {
	name, addr string
	server.Mortal
}

// deathTime is how long a process that ends its connections may take to end.
const deathTime = time.Second

// dead says whether the server has ended, or is about to.
func (m mortality) dead(ctx context.Context) bool {
	if !closed(m.Died()) && m.answers() {
		return false
	}
	select {
	case <-m.Died():
		return true
	case <-ctx.Done():
		return false
	case <-time.After(deathTime):
		return false
	}
}

// answers says whether the server says anything, or is busy. A process that ends may take a connection to the last.
func (m mortality) answers() bool {
	conn, err := net.DialTimeout("tcp", m.addr, deathTime)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(deathTime))
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nPING\r\n"); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// death is how a cell ends whose server has ended: that is the client's doing if nobody else uses the server, and else a failure.
func (c *cell) death(name string, s server.Mortal) error {
	text := history.EndedFailed
	if c.own != nil && any(s) != any(c.world.keeper) {
		text = history.EndedUnknown
	}
	return &play.Ending{Text: text, Why: "the server " + name + " has ended: " + s.End()}
}

// misconduct is what a client did to a tap or a server, which may have come true only when the script was over. failed: the script has failed by
// itself, perhaps because a server is about to end.
func (c *cell) misconduct(ctx context.Context, failed bool) error {
	for _, m := range c.mortals {
		if closed(m.Died()) || failed && m.dead(ctx) {
			return c.death(m.name, m.Mortal)
		}
	}
	for _, t := range c.taps {
		if err := trouble(t.Err()); err != nil {
			return err
		}
	}
	if c.memory.full.Load() {
		return c.overflow()
	}
	return nil
}

// trouble is how a cell ends because of an error of a tap; nil: there is none.
func trouble(err error) error {
	var host *tap.HostError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &host):
		return &play.Ending{Text: history.EndedFailed, Why: err.Error()}
	default:
		return play.Undecided("%v", err)
	}
}
