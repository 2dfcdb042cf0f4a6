package states

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// lockServer is the model of a server, which a search takes from state to state.
type lockServer interface {
	service.Server
	// Clone is a server in the same state, from which it goes on by itself.
	Clone() lockServer
	// AppendState appends all that the future of the server depends on.
	AppendState(b []byte) []byte
	// Expiries are how long what ends by itself lasts, but for sessions.
	Expiries() []time.Duration
	// Connected says whether it knows clients by their connections at present.
	Connected() bool
}

// redisServer is a Redis.
type redisServer struct{ *redis.Server }

func (s redisServer) Clone() lockServer { return redisServer{s.Server.Clone()} }

// keeperServer is a ZooKeeper. Each client has one connection all the time, with a session or none.
type keeperServer struct{ *zookeeper.Server }

func (s keeperServer) Clone() lockServer         { return keeperServer{s.Server.Clone()} }
func (s keeperServer) Expiries() []time.Duration { return nil }
func (s keeperServer) Connected() bool           { return true }

// newKeeperServer is a ZooKeeper with the place of a lock, and a session of each client.
func newKeeperServer(lockKey string, clients int) keeperServer {
	s := keeperServer{zookeeper.New(time.Millisecond)}
	lab := keeperConn(learn.MostClients)
	s.Server.Do(lab, zookeeper.Reconnect(0, learn.Lease)...)
	s.Server.Do(lab, "CREATE", lockKey)
	s.Server.Do(lab, "CLOSESESSION")
	s.Close(lab)
	for i := range clients {
		s.Server.Do(keeperConn(i), zookeeper.Reconnect(0, learn.Lease)...)
	}
	return s
}

// keeperConn is the connection of a client of a ZooKeeper. A model numbers them from 1.
func keeperConn(client int) int { return client + 1 }

// NumberWord begins the last word of a CREATE that says which number the node gets; see nextNumber.
const NumberWord = "#"

// Do carries out a request, which may say which number a sequential node gets. A real server lists nodes in no particular order; here it is that of
// their numbers, so that it does not depend on the names of clients.
func (s keeperServer) Do(connection int, words ...string) service.Reply {
	last := len(words) - 1
	if number, counts := strings.CutPrefix(words[last], NumberWord); counts {
		next, _ := strconv.ParseInt(number, 10, 64)
		s.Number(path.Dir(words[1]), next)
		words = words[:last]
	}
	reply := s.Server.Do(connection, words...)
	if words[0] == "GETCHILDREN" {
		slices.SortStableFunc(reply.List, func(a, b service.Reply) int { return strings.Compare(numberOf(a.Text), numberOf(b.Text)) })
	}
	return reply
}

func numberOf(name string) string { return name[max(0, len(name)-learn.Digits):] }
