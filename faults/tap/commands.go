package tap

import (
	"bytes"
	"slices"
	"strconv"
)

// traits say what the tap needs to know about a command.
type traits struct {
	name   string // in upper case
	keys   keyRule
	at     int  // where the keys begin, or where their number stands (keysCounted)
	writes bool // may change a key
	drops  bool // may remove a key
	blocks bool // may wait at the server: it does not take the turn
	aside  bool // does not take the turn either: it may end such waiting, or changes no keys
}

// keyRule says which arguments of a command are keys.
type keyRule uint8

const (
	keysAny       keyRule = iota // not known: any argument that is a watched key counts
	keysNone                     //
	keysOne                      // the argument at
	keysTwo                      // the arguments at and at+1
	keysAll                      // all from at on
	keysAllButOne                // all from at on but the last
	keysPairs                    // every second one from at on
	keysCounted                  // the argument at says how many follow
)

// commandTable holds the commands that locks, and the libraries around them, use. Any other command counts as one that may
// write and remove, and whose keys are the arguments that are watched.
type commandTable map[string]traits

func newCommandTable() commandTable {
	table := commandTable{}
	add := func(t traits, names ...string) {
		for _, name := range names {
			t.name = name
			table[name] = t
		}
	}
	add(traits{keys: keysNone}, "PING", "ECHO", "AUTH", "HELLO", "SELECT", "RESET", "QUIT", "CONFIG", "INFO", "COMMAND",
		"PUBLISH", "SPUBLISH", "PUBSUB", "TIME", "DBSIZE", "KEYS", "SCAN", "RANDOMKEY", "CLUSTER", "ACL", "MULTI", "EXEC",
		"DISCARD", "UNWATCH", "FLUSHALL", "FLUSHDB", "SWAPDB", "LATENCY", "SLOWLOG", "ROLE", "LASTSAVE", "READONLY", "READWRITE")
	add(traits{keys: keysNone, blocks: true}, "WAIT", "WAITAOF")
	add(traits{keys: keysNone, aside: true}, "CLIENT", "SCRIPT", "FUNCTION", "DEBUG", "SHUTDOWN", "FAILOVER",
		"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC", "PSYNC")
	add(traits{keys: keysAny, at: 1}, "OBJECT", "MEMORY", "SORT_RO", "XREAD", "XINFO", "ZUNION", "ZINTER", "ZDIFF")
	add(traits{keys: keysAny, at: 1, writes: true}, "XREADGROUP", "BITOP")

	add(traits{keys: keysOne, at: 1}, "GET", "STRLEN", "TTL", "PTTL", "TYPE", "EXPIRETIME", "PEXPIRETIME", "GETRANGE", "SUBSTR", "DUMP",
		"GETBIT", "BITCOUNT", "HGET", "HGETALL", "HEXISTS", "HLEN", "HKEYS", "HVALS", "HMGET", "HSTRLEN", "HSCAN", "LLEN", "LRANGE",
		"LINDEX", "LPOS", "SCARD", "SISMEMBER", "SMISMEMBER", "SMEMBERS", "SRANDMEMBER", "SSCAN", "ZSCORE", "ZMSCORE", "ZRANK",
		"ZREVRANK", "ZRANGE", "ZREVRANGE", "ZCARD", "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZSCAN", "XLEN", "XRANGE", "XREVRANGE")
	add(traits{keys: keysAll, at: 1}, "EXISTS", "MGET", "TOUCH", "WATCH", "SINTER", "SUNION", "SDIFF")

	add(traits{keys: keysOne, at: 1, writes: true}, "SET", "SETNX", "SETEX", "PSETEX", "GETSET", "GETEX", "APPEND", "SETRANGE", "SETBIT",
		"INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "RESTORE", "HSET",
		"HSETNX", "HMSET", "HINCRBY", "HINCRBYFLOAT", "LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "LSET", "LINSERT", "SADD", "ZADD", "ZINCRBY",
		"XADD", "XGROUP", "XACK", "PFADD")
	add(traits{keys: keysPairs, at: 1, writes: true}, "MSET", "MSETNX")
	add(traits{keys: keysTwo, at: 1, writes: true}, "COPY")

	add(traits{keys: keysOne, at: 1, writes: true, drops: true}, "GETDEL", "MOVE", "HDEL", "LPOP", "RPOP", "LREM", "LTRIM", "SREM", "SPOP",
		"ZREM", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "ZREMRANGEBYLEX", "ZPOPMIN", "ZPOPMAX")
	add(traits{keys: keysAll, at: 1, writes: true, drops: true}, "DEL", "UNLINK", "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE")
	add(traits{keys: keysTwo, at: 1, writes: true, drops: true}, "RENAME", "RENAMENX", "RPOPLPUSH", "LMOVE", "SMOVE", "ZRANGESTORE")
	add(traits{keys: keysCounted, at: 1, writes: true, drops: true}, "LMPOP", "ZMPOP")
	add(traits{keys: keysCounted, at: 2}, "EVAL_RO", "EVALSHA_RO", "FCALL_RO")
	add(traits{keys: keysCounted, at: 2, writes: true, drops: true}, "EVAL", "EVALSHA", "FCALL")

	add(traits{keys: keysAllButOne, at: 1, writes: true, drops: true, blocks: true}, "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX")
	add(traits{keys: keysTwo, at: 1, writes: true, drops: true, blocks: true}, "BRPOPLPUSH", "BLMOVE")
	add(traits{keys: keysCounted, at: 2, writes: true, drops: true, blocks: true}, "BLMPOP", "BZMPOP")
	return table
}

// find looks a command up, without allocating for those in the table.
func (table commandTable) find(args [][]byte) traits {
	const longest = 32
	name := args[0]
	if len(name) > longest {
		return unknown(string(bytes.ToUpper(name)))
	}
	var room [longest]byte
	upper := room[:len(name)]
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	t, ok := table[string(upper)]
	if !ok {
		return unknown(string(upper))
	}
	if t.name == "XREAD" || t.name == "XREADGROUP" {
		t.blocks = slices.ContainsFunc(args, func(arg []byte) bool { return bytes.EqualFold(arg, []byte("BLOCK")) })
	}
	return t
}

func unknown(name string) traits {
	return traits{name: name, keys: keysAny, at: 1, writes: true, drops: true}
}

// watchedKeys lists the watched keys that a command names, each once.
func watchedKeys(t traits, args [][]byte, watch func(string) bool) []string {
	from, to, step := keyRange(t, args)
	var keys []string
	for i := from; i < to; i += step {
		if key := string(args[i]); watch(key) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// keyRange says where the keys stand among the arguments of a command, which may have too few.
func keyRange(t traits, args [][]byte) (from, to, step int) {
	switch t.keys {
	case keysAny, keysAll:
		return t.at, len(args), 1
	case keysOne:
		return t.at, min(t.at+1, len(args)), 1
	case keysTwo:
		return t.at, min(t.at+2, len(args)), 1
	case keysAllButOne:
		return t.at, len(args) - 1, 1
	case keysPairs:
		return t.at, len(args), 2
	case keysCounted:
		return t.at + 1, min(t.at+1+countAt(args, t.at), len(args)), 1
	}
	return 0, 0, 1
}

func countAt(args [][]byte, at int) int {
	if at >= len(args) {
		return 0
	}
	n, err := strconv.Atoi(string(args[at]))
	if err != nil {
		return 0
	}
	return min(max(n, 0), len(args))
}
