package checker

import (
	"strings"

	"github.com/locklab/locklab/history"
)

// acceptedWrite says whether the resource carried out a command that writes. It goes by command and reply and not by the state
// before and after: a write of the value that was there already is a write too.
func acceptedWrite(c *history.Command) bool {
	if !answered(c) || strings.EqualFold(c.Args[0], "EXEC") && c.Reply == "nil" {
		return false
	}
	return !readsOnly(c.Args[0])
}

// answered says whether the server carried a command out: it neither refused it nor only queued it.
func answered(c *history.Command) bool {
	return len(c.Args) > 0 && c.Reply != "" && c.Reply != "QUEUED" && !strings.HasPrefix(c.Reply, "-")
}

// readsOnly says whether a command, by its name, changes nothing.
func readsOnly(name string) bool {
	switch strings.ToUpper(name) {
	case "GET", "MGET", "STRLEN", "EXISTS", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "TYPE", "OBJECT", "HGET", "HMGET", "HGETALL", "HEXISTS",
		"HLEN", "LRANGE", "LLEN", "LINDEX", "SISMEMBER", "SMEMBERS", "SCARD", "ZSCORE", "ZRANGE", "ZRANK", "ZCARD",
		"WATCH", "MULTI", "DISCARD", "UNWATCH", "EVAL_RO", "EVALSHA_RO", "FCALL_RO":
		return true
	}
	return false
}

// runsScript says whether a command, by its name, may do several things and fail in between.
func runsScript(name string) bool {
	switch strings.ToUpper(name) {
	case "EVAL", "EVALSHA", "FCALL", "EXEC":
		return true
	}
	return false
}
