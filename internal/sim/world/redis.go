package world

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/redis"
)

// redisModel is a Redis, which alone knows connections of clients' own, and can lose its data or be replaced by a replica.
type redisModel struct{ *redis.Server }

func onRedis(s *redis.Server) model { return redisModel{s} }

// asRedis is a server as the Redis that it is.
func asRedis(m model) *redis.Server { return m.(redisModel).Server }

func (m redisModel) Clone() model { return onRedis(m.Server.Clone()) }

func (m redisModel) AppendUnder(o *order, b []byte) []byte {
	return append(b, o.names.Replace(string(m.AppendState(nil)))...)
}

// wrote notes a write, after which a replica may lack so many.
func (v *server) wrote(before model, lag int) {
	lacks := asRedis(before).Promoted()
	if string(lacks.AppendState(nil)) == string(asRedis(v.model).Promoted().AppendState(nil)) {
		return
	}
	v.behind = slices.Insert(slices.Clone(v.behind), 0, onRedis(lacks))
	v.behind = v.behind[:min(len(v.behind), lag)]
}

// firstLate is the first of the numbers of connections that clients have given up.
const firstLate = 7

// leave closes a client's connection, or numbers it anew for what is still on its way by it. The client hears no more by it.
func (w *world) leave(i int, n process.Notice) {
	c, model := &w.clients[i], asRedis(w.change(n.Server).model)
	c.inbox = slices.DeleteFunc(c.inbox, func(m publication) bool { return m.server == n.Server && m.conn == n.Conn })
	other := firstLate
	for slices.ContainsFunc(c.travel, func(m message) bool { return m.conn == other }) {
		other++
	}
	for k := range c.travel {
		if m := &c.travel[k]; m.conn == n.Conn && m.server == n.Server {
			m.conn = other
		}
	}
	model.Renumber(connection(i, n.Conn), connection(i, other))
	if !slices.ContainsFunc(c.travel, func(m message) bool { return m.conn == other }) {
		model.Close(connection(i, other))
	}
}
