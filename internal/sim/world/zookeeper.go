package world

import (
	"path"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// lockNode is the place of the lock on a ZooKeeper: its nodes are below it.
const lockNode = "/k"

// keeperModel is a ZooKeeper. Each client has one connection all the time, with a session or none.
type keeperModel struct {
	service.Server
	keeper *zookeeper.Server
}

func onKeeper(s *zookeeper.Server) model { return keeperModel{s, s} }

// newKeeper is a ZooKeeper with the place of a lock, and a session of each client.
func newKeeper(clients int, lease time.Duration) model {
	m := zookeeper.New(time.Millisecond)
	lab := sessionConn(clients)
	m.Do(lab, zookeeper.Reconnect(0, lease)...)
	m.Do(lab, "CREATE", lockNode)
	m.Do(lab, "CLOSESESSION")
	m.Close(lab)
	for i := range clients {
		m.Do(sessionConn(i), zookeeper.Reconnect(0, lease)...)
	}
	return onKeeper(m)
}

// asKeeper is a server as the ZooKeeper that it is.
func asKeeper(m model) keeperModel { return m.(keeperModel) }

func sessionConn(client int) int { return connection(client, 1) }

func (m keeperModel) Clone() model { return onKeeper(m.keeper.Clone()) }

func (m keeperModel) AppendState(b []byte) []byte { return m.keeper.AppendState(b) }

func (m keeperModel) AppendUnder(o *order, b []byte) []byte {
	called := func(connection int) int {
		if i := clientOf(connection); i < len(o.to) {
			return sessionConn(o.to[i])
		}
		return connection
	}
	return append(b, o.names.Replace(string(zookeeper.AppendUnder(nil, m.keeper, called)))...)
}

// Expiries: only sessions end by themselves.
func (m keeperModel) Expiries() []time.Duration { return nil }

// Do carries out a request. A real server lists nodes in no particular order; here it is that of their numbers.
func (m keeperModel) Do(connection int, words ...string) service.Reply {
	reply := m.Server.Do(connection, words...)
	if words[0] == "GETCHILDREN" {
		slices.SortFunc(reply.List, func(a, b service.Reply) int { return zookeeper.ByNumber(a.Text, b.Text) })
	}
	return reply
}

// left is how long a client's session lasts if the server does not hear of it; 0: it is over.
func (m keeperModel) left(client int) int {
	return ms(m.keeper.Left(m.keeper.Session(sessionConn(client))))
}

// head is whose the lock is: the first node, with its client, as histories have it; negative: nobody's.
func (m keeperModel) head() (lock history.State, client int) {
	first := m.State(lockNode).Value
	if first == "" {
		return history.State{}, -1
	}
	client = m.maker(first)
	return history.State{Type: "znode", Value: first + ofClient(client)}, client
}

func ofClient(i int) string { return " of " + trace.ClientName(i) }

func (m keeperModel) maker(node string) int {
	return clientOf(m.keeper.Maker(path.Join(lockNode, node)))
}

// nodes are those of a client below the lock's, in order.
func (m keeperModel) nodes(client int) []string {
	names := slices.DeleteFunc(m.keeper.Names(lockNode), func(name string) bool { return m.maker(name) != client })
	slices.SortFunc(names, zookeeper.ByNumber)
	return names
}
