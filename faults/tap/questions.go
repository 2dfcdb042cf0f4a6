package tap

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/faults/resp"
	"github.com/locklab/locklab/history"
)

const (
	dialTime = 5 * time.Second
	// leastTTL stands for a remaining time that the server rounds to 0 ms: zero would mean that there is no expiry.
	leastTTL = time.Microsecond
)

// asker asks the server questions of the tap's own, on one connection per database. Only who has the turn may use it.
type asker struct {
	life   context.Context // when it ends the connections are closed
	addr   string
	limits resp.Limits
	links  map[int]*link
}

// link is a connection for questions.
type link struct {
	conn    net.Conn
	limits  resp.Limits
	replies *resp.Reader
	request []byte
	unbind  func() bool
}

// check makes sure that the server answers questions at all.
func (a *asker) check(ctx context.Context) error {
	l, err := a.link(ctx, 0)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.conn.Close() })()
	if _, err = l.ask("PING"); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// states asks for the state of each key in a database.
func (a *asker) states(db int, keys []string) ([]history.State, error) {
	states := make([]history.State, len(keys))
	err := a.use(db, func(l *link) error {
		l.request = l.request[:0]
		for _, key := range keys {
			l.request = resp.AppendCommand(l.request, "PTTL", key)
			l.request = resp.AppendCommand(l.request, "GET", key)
		}
		if err := l.send(); err != nil {
			return err
		}
		return l.readStates(states, keys)
	})
	return states, err
}

// readStates reads the answers for all keys before it asks further: they are already on their way.
func (l *link) readStates(states []history.State, keys []string) error {
	var others []int
	for i := range keys {
		left, err := l.read()
		if err != nil {
			return err
		}
		value, err := l.read()
		switch {
		case err != nil:
			return err
		case left.IsError():
			return serverError(left)
		case strings.HasPrefix(value.Text, "WRONGTYPE") && value.IsError():
			states[i].TTL = remaining(left.Int())
			others = append(others, i)
		case value.IsError():
			return serverError(value)
		case !value.Null:
			states[i] = history.State{Type: "string", Value: commands.ClipValue(value.Text), TTL: remaining(left.Int())}
		}
	}
	for _, i := range others {
		if err := l.describe(&states[i], keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// describe fills in the type and the value of a key that holds no string.
func (l *link) describe(state *history.State, key string) error {
	kind, err := l.ask("TYPE", key)
	if err != nil {
		return err
	}
	var value resp.Value
	switch kind.Text {
	case "none":
		*state = history.State{}
		return nil
	case "hash":
		value, err = l.ask("HGETALL", key)
		sortPairs(value.List)
	case "set":
		value, err = l.ask("SMEMBERS", key)
		slices.SortFunc(value.List, func(a, b resp.Value) int { return strings.Compare(a.Text, b.Text) })
	case "list":
		value, err = l.ask("LRANGE", key, "0", "-1")
	case "zset":
		value, err = l.ask("ZRANGE", key, "0", "-1", "WITHSCORES")
	case "stream":
		value, err = l.ask("XRANGE", key, "-", "+")
	default:
		value, err = l.ask("DUMP", key)
	}
	state.Type, state.Value = kind.Text, commands.ClipValue(value.String())
	return err
}

// sortPairs sorts a list of keys and values in turn by its keys.
func sortPairs(list []resp.Value) {
	pairs := slices.Collect(slices.Chunk(slices.Clone(list), 2))
	slices.SortFunc(pairs, func(a, b []resp.Value) int { return strings.Compare(a[0].Text, b[0].Text) })
	copy(list, slices.Concat(pairs...))
}

func remaining(milliseconds int64) time.Duration {
	switch {
	case milliseconds < 0:
		return 0
	case milliseconds == 0:
		return leastTTL
	}
	return time.Duration(milliseconds) * time.Millisecond
}

// knowsScript says whether the server has a script. If it cannot be asked, it has.
func (a *asker) knowsScript(sha string) bool {
	known := true
	// The error is the command's to report: it is about to meet the same server.
	_ = a.use(0, func(l *link) error {
		answer, err := l.ask("SCRIPT", "EXISTS", sha)
		known = err != nil || len(answer.List) != 1 || answer.List[0].Int() != 0
		return err
	})
	return known
}

// use calls fn with the connection for a database. A server that was restarted has closed it: then fn is called once more, with
// a new one.
func (a *asker) use(db int, fn func(*link) error) error {
	_, had := a.links[db]
	err := a.try(db, fn)
	if err != nil && had && a.life.Err() == nil {
		err = a.try(db, fn)
	}
	return err
}

func (a *asker) try(db int, fn func(*link) error) error {
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

func (a *asker) link(ctx context.Context, db int) (*link, error) {
	if l := a.links[db]; l != nil {
		return l, nil
	}
	conn, err := dial(ctx, a.addr)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, limits: a.limits, replies: resp.NewReader(conn, a.limits)}
	l.unbind = context.AfterFunc(a.life, func() { conn.Close() })
	if db != 0 {
		if _, err := l.ask("SELECT", strconv.Itoa(db)); err != nil {
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

// ask sends one command and reads the answer.
func (l *link) ask(args ...string) (resp.Value, error) {
	l.request = resp.AppendCommand(l.request[:0], args...)
	if err := l.send(); err != nil {
		return resp.Value{}, err
	}
	answer, err := l.read()
	if err == nil && answer.IsError() {
		err = serverError(answer)
	}
	return answer, err
}

func (l *link) send() error {
	_, err := l.conn.Write(l.request)
	return err
}

func (l *link) read() (resp.Value, error) {
	reply, err := l.replies.ReadReply()
	if err != nil {
		return resp.Value{}, err
	}
	return resp.Parse(reply.Raw, l.limits)
}

func serverError(v resp.Value) error { return fmt.Errorf("the server answered a question: %s", v.Text) }

func dial(ctx context.Context, addr string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTime}
	return dialer.DialContext(ctx, "tcp", addr)
}
