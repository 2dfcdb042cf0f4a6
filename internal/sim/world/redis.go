package world

import "github.com/locklab/locklab/internal/sim/redis"

// redisModel is a Redis, which alone knows connections of clients' own, and can lose its data or be replaced by a replica.
type redisModel struct{ *redis.Server }

func (m redisModel) Clone() model { return redisModel{m.Server.Clone()} }

func (m redisModel) AppendUnder(o *order, b []byte) []byte {
	return append(b, o.names.Replace(string(m.AppendState(nil)))...)
}

func (m redisModel) Promoted() model { return redisModel{m.Server.Promoted()} }

// asRedis is a server as the Redis that it is.
func asRedis(m model) redisModel { return m.(redisModel) }
