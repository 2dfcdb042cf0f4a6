package live

import (
	"context"
	"errors"

	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/play"
)

// maxMemory bounds what the servers of a foreign client may allocate, in bytes: a process of embedded servers, or a redis-server.
const maxMemory = 768 << 20

// isolation is what the cell of a foreign client has to itself where the lab starts the servers: all of its servers, in processes that no
// other cell uses before or after. Whatever the client does to them, it does to its own cell. The lab's own clients send known commands;
// their cells share servers, one after another, which saves the starts.
type isolation struct {
	world *World
	host  *server.Host // of embedded servers; nil before the first, and for redis-server
}

// isolate gives the cell of a foreign client servers of its own.
func (w *World) isolate(subject play.Subject) *isolation {
	if subject.Argv == nil || !w.startsServers() {
		return nil
	}
	return &isolation{world: w}
}

// open starts the process of the cell's embedded servers.
func (i *isolation) open() (err error) {
	if i != nil && i.world.cfg.Server == Embedded {
		i.host, err = server.StartHost(i.world.guard, i.world.cfg.Host, maxMemory)
	}
	return err
}

// start starts a server. Nobody uses it again.
func (i *isolation) start(ctx context.Context, log string) (*spare, error) {
	s, err := i.world.ownServer(ctx, i.host, maxMemory)
	if err != nil {
		return nil, err
	}
	if err := s.linkLog(log); err != nil {
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

// mind ends the cell when a server ends against the lab's will.
func (c *cell) mind(ctx context.Context, name string, s server.Server) {
	mortal, ok := s.(server.Mortal)
	if !ok {
		return
	}
	c.mortals = append(c.mortals, mortality{name, mortal})
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
	name string
	server.Mortal
}

// death is how a cell ends whose server has ended: that is the client's doing if nobody else uses the server, and else a failure.
func (c *cell) death(name string, s server.Mortal) error {
	text := history.EndedFailed
	if c.own != nil {
		text = history.EndedUnknown
	}
	return &play.Ending{Text: text, Why: "the server " + name + " has ended: " + s.End()}
}

// misconduct is what a client did to a tap or a server, which may have come true only when the script was over.
func (c *cell) misconduct() error {
	for _, m := range c.mortals {
		if closed(m.Died()) {
			return c.death(m.name, m.Mortal)
		}
	}
	for _, t := range c.taps {
		if err := t.Err(); err != nil {
			return play.Undecided("%v", err)
		}
	}
	return nil
}
