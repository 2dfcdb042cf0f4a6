package timeline

import (
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// AcceptedWrite says whether the resource carried out a command that writes. It goes by command and reply and not by the state
// before and after: a write of the value that was there already is a write too. A command that shows the resource a fence and does nothing
// else is none: fences are no data, and a late one only has those refused that are still older.
func AcceptedWrite(c *history.Command) bool {
	if !Answered(c) || strings.EqualFold(c.Args[0], "EXEC") && c.Reply == "nil" || showsFence(c.Args) {
		return false
	}
	return !ReadsOnly(c.Args[0])
}

// showsFence says whether a script is given a fence, and no other key than the one where the resource keeps the greatest.
func showsFence(args []string) bool {
	if len(args) != 5 || !ownership.RunsScript(args[0]) || args[2] != "1" {
		return false
	}
	return strings.HasSuffix(args[3], ":fence") || strings.Contains(args[3], ":fence:")
}

// Answered says whether the server carried a command out: it neither refused it nor only queued it.
func Answered(c *history.Command) bool {
	return len(c.Args) > 0 && c.Reply != "" && c.Reply != "QUEUED" && !c.Failed()
}

// ReadsOnly says whether a command, by its name, changes nothing.
func ReadsOnly(name string) bool {
	switch strings.ToUpper(name) {
	case "GET", "MGET", "STRLEN", "EXISTS", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "TYPE", "OBJECT", "HGET", "HMGET", "HGETALL", "HEXISTS",
		"HLEN", "LRANGE", "LLEN", "LINDEX", "SISMEMBER", "SMEMBERS", "SCARD", "ZSCORE", "ZRANGE", "ZRANK", "ZCARD",
		"WATCH", "MULTI", "DISCARD", "UNWATCH", "EVAL_RO", "EVALSHA_RO", "FCALL_RO":
		return true
	}
	return false
}
