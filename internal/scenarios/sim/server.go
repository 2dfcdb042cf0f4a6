package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/probe"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
)

// labConn is the connection by which the lab itself asks and changes things.
const labConn = 0

// server is one server of a cell.
type server struct {
	cell   *cell
	name   string // "redis", or S1 and so on where there are several; "resource"
	model  service.Server
	nodes  *nodes // of a ZooKeeper; nil: the server is a Redis
	watch  func(key string) bool
	queued map[int]*queue // by connection, between MULTI and EXEC
	subs   []*conn        // that have subscribed
	replication
	condition
}

// queue is what MULTI has queued.
type queue struct {
	begun         [][]string
	keys          []string // the watched ones
	writes, drops bool
	refused       bool // one of them was refused
}

func (c *cell) newServer(name string, watch func(key string) bool) *server {
	model := c.blank.Clone()
	model.SetWallClock(time.Duration(c.base.UnixNano()))
	return &server{cell: c, name: name, model: model, watch: watch, queued: map[int]*queue{}}
}

// redis is the model of a server that is a Redis. Only these restart, have replicas, and know scripts.
func (s *server) redis() *redis.Server { return s.model.(*redis.Server) }

// keepTime lets the server's clock go on, which counts in whole milliseconds.
func (s *server) keepTime(now time.Duration) {
	if by := now.Truncate(time.Millisecond) + s.ahead - s.model.Now(); by > 0 {
		s.model.Advance(by)
		s.nodes.follow()
	}
}

// Name is what a history calls the server.
func (s *server) Name() string { return s.name }

// State is what the server has of a lock.
func (s *server) State(_ context.Context, lock string) (history.State, error) {
	set := s.cell.run.LockKeys.Of(lock)
	states := make([]history.State, len(set.Keys))
	for i, key := range set.Keys {
		states[i] = s.state(key)
	}
	return set.Whole(states), nil
}

// Save keeps a copy of the data.
func (s *server) Save(context.Context) error {
	s.hold(replicaCount)
	return nil
}

// restart starts the server again, with or without its data.
func (s *server) restart(keepData bool) {
	s.redis().Restart(keepData)
	s.starts++
	s.queued, s.subs, s.replication = map[int]*queue{}, nil, replication{}
}

// breakAll breaks the connections of all clients to the server.
func (s *server) breakAll() {
	for _, n := range s.cell.nodes {
		for _, l := range n.linksTo(s) {
			l.breakAll()
		}
	}
}

// restartSaved starts the server again, with the data that it has saved. For these time has gone on, too.
func (s *server) restartSaved() {
	now, saved := s.model.Now(), s.saved
	s.restart(false)
	s.model, s.saved = saved, nil
	saved.Restart(true)
	s.model.Advance(now - s.model.Now())
}

// hangUp ends a connection, after what is under way on it.
func (s *server) hangUp(c *conn) {
	if c.closing = c.busy > 0; c.closing {
		return
	}
	s.model.Close(c.id)
	delete(s.queued, c.id)
	s.subs = slices.DeleteFunc(s.subs, func(sub *conn) bool { return sub == c })
}

// state is what the server has under a key, as a history has it.
func (s *server) state(key string) history.State {
	if s.nodes != nil {
		return s.nodes.state(key)
	}
	if state := s.model.State(key); !state.Exists() || state.Type == "string" { // as most locks have it: without commands
		state.Value = commands.ClipValue(state.Value)
		return state
	}
	states := make([]history.State, 1)
	_ = probe.States(&asker{server: s}, []string{key}, states) // the model always answers
	return states[0]
}

// values is what stands under a key, piece by piece.
func (s *server) values(key string) []string {
	values, _ := probe.Values(&asker{server: s}, key)
	return values
}

// asker sends the model state probes.
type asker struct {
	server *server
	queued [][]string
}

func (a *asker) Send(args ...string) { a.queued = append(a.queued, args) }

func (a *asker) Receive() (resp.Value, error) {
	args := a.queued[0]
	a.queued = a.queued[1:]
	return value(a.server.model.Do(labConn, args...)), nil
}

// knows says whether the server has a script.
func (s *server) knows(sha string) bool {
	return s.model.Do(labConn, "SCRIPT", "EXISTS", sha).List[0].Int != 0
}

// value is a reply of the model as a server would send it.
func value(r service.Reply) resp.Value {
	switch r.Kind {
	case service.Nil:
		return resp.Value{Null: true}
	case service.Error:
		return resp.Value{Kind: resp.KindError, Text: r.Text}
	case service.Integer:
		return resp.Value{Kind: resp.KindInteger, Text: strconv.FormatInt(r.Int, 10)}
	case service.Array:
		v := resp.Value{Kind: resp.KindArray, List: make([]resp.Value, len(r.List))}
		for i, element := range r.List {
			v.List[i] = value(element)
		}
		return v
	}
	return resp.Value{Kind: resp.KindString, Text: r.Text}
}

// words are the words of a command.
func words(command []any) []string {
	texts := make([]string, len(command))
	for i, word := range command {
		texts[i] = fmt.Sprint(word)
	}
	return texts
}
