package learn

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/sim/service"
)

// UsualReplies stand for what a server may answer by the time that a request reaches it, if others change its data before.
type UsualReplies struct{ all, numbers, texts, statuses []uint32 }

func NewUsualReplies(t *Texts) (u UsualReplies) {
	number := func(r service.Reply) uint32 { return t.Reply([]service.Reply{r}) }
	none := number(service.Reply{Kind: service.Nil})
	u.texts = []uint32{none}
	u.statuses = []uint32{none, number(service.Reply{Kind: service.Status, Text: "OK"})}
	for n := range int64(2) {
		u.numbers = append(u.numbers, number(service.Reply{Kind: service.Integer, Int: n}))
	}
	u.all = slices.Concat(u.statuses, u.numbers)
	return u
}

// To are those that a server can give to some commands; none if they are several. Other commands, and those of a ZooKeeper, can give any, as far as is known.
func (u *UsualReplies) To(commands [][]string) []uint32 {
	if len(commands) != 1 {
		return nil
	}
	switch strings.ToUpper(commands[0][0]) {
	case "SETNX", "DEL", "UNLINK", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "TTL", "PTTL",
		"INCR", "DECR", "INCRBY", "DECRBY", "HSET", "HSETNX", "HDEL", "HEXISTS", "HINCRBY", "SADD", "SREM", "SISMEMBER", "PUBLISH":
		return u.numbers
	case "GET", "GETSET", "GETDEL", "GETEX", "HGET":
		return u.texts
	case "SET": // with GET it answers with the old value
		return u.statuses
	}
	return u.all
}
