package tap

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/probe"
	"github.com/locklab/locklab/internal/faults/resp"
)

const dialTime = 5 * time.Second

// prober sends the server state probes, on one connection per database. Only the holder of the turn may use it.
type prober struct {
	life   context.Context // when it ends the connections are closed
	addr   string
	entry  Entry
	limits resp.Limits
	asking bool // as in Config
	links  map[int]*link
}

// link is a connection for probes.
type link struct {
	conn    net.Conn
	limits  resp.Limits
	asking  bool
	replies *resp.Reader
	request []byte
	unbind  func() bool
}

// check makes sure that the server answers at all.
func (a *prober) check(ctx context.Context) error {
	l, err := a.link(ctx, a.entry.DB)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.conn.Close() })()
	if _, err = probe.Ask(l, "PING"); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// states reads the state of each key in a database.
func (a *prober) states(db int, keys []string) ([]history.State, error) {
	states := make([]history.State, len(keys))
	err := a.use(db, func(l *link) error { return probe.States(l, keys, states) })
	return states, err
}

// knowsScript says whether the server has a script, and true if the server does not answer.
func (a *prober) knowsScript(sha string) bool {
	known := true
	// The command that follows meets the same error and reports it.
	_ = a.use(a.entry.DB, func(l *link) error {
		answer, err := probe.Ask(l, "SCRIPT", "EXISTS", sha)
		known = err != nil || len(answer.List) != 1 || answer.List[0].Int() != 0
		return err
	})
	return known
}

// use calls fn with the connection for a database. A restarted server has closed it, so an error with an old connection calls fn once more
// with a new one.
func (a *prober) use(db int, fn func(*link) error) error {
	_, had := a.links[db]
	err := a.try(db, fn)
	if err != nil && had && a.life.Err() == nil {
		err = a.try(db, fn)
	}
	return err
}

func (a *prober) try(db int, fn func(*link) error) error {
	l, err := a.link(a.life, db)
	if err != nil {
		return err
	}
	if err := fn(l); err != nil {
		l.close()
		delete(a.links, db)
		return err
	}
	return nil
}

func (a *prober) link(ctx context.Context, db int) (*link, error) {
	if l := a.links[db]; l != nil {
		return l, nil
	}
	conn, err := a.entry.Dial(ctx, a.addr)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, limits: a.limits, asking: a.asking, replies: resp.NewReader(conn, a.limits)}
	l.unbind = context.AfterFunc(a.life, func() { conn.Close() })
	if db != a.entry.DB {
		if _, err := probe.Ask(l, "SELECT", strconv.Itoa(db)); err != nil {
			l.close()
			return nil, err
		}
	}
	a.links[db] = l
	return l, nil
}

func (l *link) close() {
	l.unbind()
	l.conn.Close()
}

// Send queues a command.
func (l *link) Send(args ...string) {
	if l.asking {
		l.request = resp.AppendCommand(l.request, "ASKING") // holds for one command
	}
	l.request = resp.AppendCommand(l.request, args...)
}

// Receive sends the queue and reads the next reply.
func (l *link) Receive() (resp.Value, error) {
	if len(l.request) > 0 {
		_, err := l.conn.Write(l.request)
		l.request = l.request[:0]
		if err != nil {
			return resp.Value{}, err
		}
	}
	if l.asking {
		if _, err := l.replies.ReadReply(); err != nil { // OK
			return resp.Value{}, err
		}
	}
	reply, err := l.replies.ReadReply()
	if err != nil {
		return resp.Value{}, err
	}
	return resp.Parse(reply.Raw, l.limits)
}

func dial(ctx context.Context, addr string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTime}
	return dialer.DialContext(ctx, "tcp", addr)
}
