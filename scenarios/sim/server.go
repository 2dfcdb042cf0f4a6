package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/sim/redis"
)

// labConn is the connection by which the lab itself asks and changes things.
const labConn = 0

// server is one server of a cell.
type server struct {
	name   string // "redis", or S1 and so on where there are several; "resource"
	model  *redis.Server
	saved  *redis.Server // a copy of it; nil: there is none
	ahead  time.Duration // how far its clock has jumped
	watch  func(key string) bool
	queued map[int]*queue // by connection, between MULTI and EXEC
	subs   []*subscription
	starts int // how often it has been started anew
}

// queue is what MULTI has queued.
type queue struct {
	keys          []string // the watched ones
	writes, drops bool
}

func (c *cell) newServer(name string, watch func(key string) bool) *server {
	return &server{name: name, model: c.blank.Clone(), watch: watch, queued: map[int]*queue{}}
}

// keepTime lets the server's clock go on, which counts in whole milliseconds.
func (s *server) keepTime(now time.Duration) {
	if by := now.Truncate(time.Millisecond) + s.ahead - s.model.Now(); by > 0 {
		s.model.Advance(by)
	}
}

// jump lets the server's clock leap.
func (s *server) jump(d time.Duration) {
	by := d.Round(time.Millisecond)
	s.ahead += by
	s.model.Advance(by)
}

// restart starts the server anew, without its data. All connections end.
func (s *server) restart() {
	s.model.Restart(false)
	s.starts++
	s.queued, s.subs = map[int]*queue{}, nil
}

// restartSaved starts the server anew, with the data that it has saved. For these time has gone on, too.
func (s *server) restartSaved() {
	now := s.model.Now()
	s.restart()
	s.model, s.saved = s.saved, nil
	s.model.Restart(true)
	s.model.Advance(now - s.model.Now())
}

// hangUp ends a connection, after what is under way on it.
func (s *server) hangUp(conn *conn) {
	if conn.closing = conn.busy; conn.busy {
		return
	}
	s.model.Close(conn.id)
	delete(s.queued, conn.id)
	s.subs = slices.DeleteFunc(s.subs, func(sub *subscription) bool { return sub.conn == conn })
}

// leastTTL stands for a remaining time of 0 ms: zero would mean that there is no expiry.
const leastTTL = time.Microsecond

// state is what the server has under a key, as a history has it.
func (s *server) state(key string) history.State {
	kind := s.model.Do(labConn, "TYPE", key).Text
	state := history.State{Type: kind}
	switch kind {
	case "none":
		return history.State{}
	case "string":
		state.Value = commands.ClipValue(s.model.Do(labConn, "GET", key).Text)
	default:
		state.Value = commands.ClipValue(line(s.content(kind, key)))
	}
	switch left := s.model.Do(labConn, "PTTL", key).Int; {
	case left == 0:
		state.TTL = leastTTL
	case left > 0:
		state.TTL = time.Duration(left) * time.Millisecond
	}
	return state
}

// content is what stands under a key that is no string.
func (s *server) content(kind, key string) redis.Reply {
	switch kind {
	case "hash":
		return s.model.Do(labConn, "HGETALL", key)
	case "list":
		return s.model.Do(labConn, "LRANGE", key, "0", "-1")
	case "zset":
		return s.model.Do(labConn, "ZRANGE", key, "0", "-1", "WITHSCORES")
	}
	return s.model.Do(labConn, "SMEMBERS", key)
}

// values is what stands under a key, piece by piece.
func (s *server) values(key string) []string {
	switch kind := s.model.Do(labConn, "TYPE", key).Text; kind {
	case "none":
		return nil
	case "string":
		return []string{s.model.Do(labConn, "GET", key).Text}
	default:
		var texts []string
		for _, element := range s.content(kind, key).List {
			texts = append(texts, element.Text)
		}
		return texts
	}
}

// number is the number under a key; zero if nothing is there.
func (s *server) number(key string) (int64, error) {
	values := s.values(key)
	if len(values) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number: %w", key, err)
	}
	return n, nil
}

// knows says whether the server has a script.
func (s *server) knows(sha string) bool {
	return s.model.Do(labConn, "SCRIPT", "EXISTS", sha).List[0].Int != 0
}

// line writes a reply as histories have it: an error begins with "-", a list is in brackets.
func line(r redis.Reply) string {
	switch r.Kind {
	case redis.Nil:
		return "nil"
	case redis.Error:
		return "-" + r.Text
	case redis.Integer:
		return strconv.FormatInt(r.Int, 10)
	case redis.Array:
		parts := make([]string, len(r.List))
		for i, element := range r.List {
			parts[i] = line(element)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return r.Text
}

// words are the words of a command.
func words(command []any) []string {
	texts := make([]string, len(command))
	for i, word := range command {
		texts[i] = fmt.Sprint(word)
	}
	return texts
}

// named are the servers that a step names; all, where it names none.
func (c *cell) named(names []string) []*server {
	if len(names) == 0 {
		return c.servers
	}
	return slices.DeleteFunc(slices.Clone(c.servers), func(s *server) bool { return !slices.Contains(names, s.name) })
}

// states are what servers have under the lock's key.
func (c *cell) states(servers []*server) cells.States {
	states := make(cells.States, len(servers))
	for i, s := range servers {
		states[i] = s.state(c.lockKey)
	}
	return states
}
