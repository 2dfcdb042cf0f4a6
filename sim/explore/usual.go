package explore

import (
	"strings"

	"github.com/locklab/locklab/sim/service"
)

// usualReplies stand for what a server may answer by the time that a request reaches it, if others change its data before.
type usualReplies struct{ all, numbers, texts []uint32 }

func newUsualReplies(t *texts) (u usualReplies) {
	number := func(r service.Reply) uint32 { return t.reply([]service.Reply{r}) }
	u.texts = []uint32{number(service.Reply{Kind: service.Nil})}
	u.all = append(u.texts[:1:1], number(service.Reply{Kind: service.Status, Text: "OK"}))
	for n := range int64(2) {
		u.numbers = append(u.numbers, number(service.Reply{Kind: service.Integer, Int: n}))
	}
	u.all = append(u.all, u.numbers...)
	return u
}

// to are those that a server can give to some commands; none if they are several. Most commands can give any, as far as is known.
func (u *usualReplies) to(commands [][]string) []uint32 {
	if len(commands) != 1 {
		return nil
	}
	switch strings.ToUpper(commands[0][0]) {
	case "SETNX", "DEL", "UNLINK", "EXISTS", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "TTL", "PTTL",
		"INCR", "DECR", "INCRBY", "DECRBY", "HSET", "HSETNX", "HDEL", "HEXISTS", "HINCRBY", "SADD", "SREM", "SISMEMBER", "PUBLISH":
		return u.numbers
	case "GET", "GETSET", "GETDEL", "GETEX", "HGET":
		return u.texts
	}
	return u.all
}
