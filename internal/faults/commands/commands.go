// Package commands owns the table of Redis commands: which keys each names, whether it may write or remove, and how a history shows it. The
// tap and the model share it, so that a breakpoint means the same request in both worlds.
//
// It must not know a connection, a server or a lock.
package commands

import (
	"bytes"
	"slices"
	"strconv"
)

// Traits are what the lab needs to know about a command.
type Traits struct {
	Name   string // in upper case
	keys   keyRule
	at     int // where the keys begin, or where their number stands (keysCounted)
	dest   int // where one more key stands; zero: none
	reach  reach
	words  []string // its subcommands that touch nothing else; nil: it has none
	Writes bool     // may change a key
	Drops  bool     // may remove a key
	// Blocks: the command may wait at the server, so the tap does not serialize it.
	Blocks bool
	// Unordered: the tap does not serialize it either, because it may end such a wait, or changes no keys.
	Unordered bool
}

// keyRule says which arguments of a command are keys.
type keyRule uint8

const (
	keysAny       keyRule = iota // unknown: any argument that is a watched key counts
	keysNone                     //
	keysOne                      // the argument at
	keysTwo                      // the arguments at and at+1
	keysAll                      // all from at on
	keysAllButOne                // all from at on but the last
	keysPairs                    // every second one from at on
	keysCounted                  // the argument at says how many follow
	keysStreams                  // the first half of what follows STREAMS
)

// Table holds the commands that locks and client libraries use. Any other command counts as one that may write and remove, and whose keys
// are its watched arguments.
type Table map[string]Traits

// NewTable makes the table.
func NewTable() Table {
	table := Table{}
	add := func(t Traits, names ...string) {
		for _, name := range names {
			t.Name = name
			table[name] = t
		}
	}
	add(Traits{keys: keysNone, reach: reachConnection}, "PING", "ECHO", "AUTH", "HELLO", "RESET", "QUIT", "INFO", "COMMAND", "TIME", "MULTI",
		"EXEC", "DISCARD", "UNWATCH", "ROLE", "LASTSAVE", "READONLY", "READWRITE", "SELECT")
	add(Traits{keys: keysNone, reach: reachChannel}, "PUBLISH", "SPUBLISH")
	add(Traits{keys: keysNone, reach: reachServer}, "CONFIG", "PUBSUB", "DBSIZE", "KEYS", "SCAN", "RANDOMKEY", "CLUSTER", "ACL", "FLUSHALL",
		"FLUSHDB", "SWAPDB", "LATENCY", "SLOWLOG")
	add(Traits{keys: keysNone, Blocks: true, reach: reachConnection}, "WAIT", "WAITAOF")
	add(Traits{keys: keysNone, Unordered: true, reach: reachConnection, words: []string{
		"SETNAME", "GETNAME", "SETINFO", "ID", "INFO", "REPLY", "NO-EVICT", "NO-TOUCH", "CACHING", "TRACKING", "TRACKINGINFO", "GETREDIR", "MAINT_NOTIFICATIONS",
	}}, "CLIENT")
	add(Traits{keys: keysNone, Unordered: true, reach: reachScript, words: []string{"LOAD", "EXISTS"}}, "SCRIPT")
	add(Traits{keys: keysNone, Unordered: true, reach: reachServer}, "FUNCTION", "DEBUG", "SHUTDOWN", "FAILOVER", "MONITOR", "SYNC", "PSYNC")
	add(Traits{keys: keysNone, Unordered: true, reach: reachChannels}, "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")
	add(Traits{keys: keysNone, Unordered: true, reach: reachConnection}, "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE")
	add(Traits{keys: keysAny, at: 1, reach: reachServer}, "SORT_RO")
	add(Traits{keys: keysOne, at: 2, words: []string{"ENCODING", "FREQ", "IDLETIME", "REFCOUNT"}}, "OBJECT")
	add(Traits{keys: keysOne, at: 2, words: []string{"USAGE"}}, "MEMORY")
	add(Traits{keys: keysOne, at: 2, words: []string{"STREAM", "GROUPS", "CONSUMERS"}}, "XINFO")
	add(Traits{keys: keysStreams, at: 1}, "XREAD")
	add(Traits{keys: keysStreams, at: 1, Writes: true}, "XREADGROUP")

	add(Traits{keys: keysOne, at: 1}, "GET", "STRLEN", "TTL", "PTTL", "TYPE", "EXPIRETIME", "PEXPIRETIME", "GETRANGE", "SUBSTR", "DUMP",
		"GETBIT", "BITCOUNT", "HGET", "HGETALL", "HEXISTS", "HLEN", "HKEYS", "HVALS", "HMGET", "HSTRLEN", "HSCAN", "LLEN", "LRANGE",
		"LINDEX", "LPOS", "SCARD", "SISMEMBER", "SMISMEMBER", "SMEMBERS", "SRANDMEMBER", "SSCAN", "ZSCORE", "ZMSCORE", "ZRANK",
		"ZREVRANK", "ZRANGE", "ZREVRANGE", "ZCARD", "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZSCAN", "XLEN", "XRANGE", "XREVRANGE",
		"BITPOS", "BITFIELD_RO", "HRANDFIELD", "HTTL", "HPTTL", "ZRANDMEMBER", "ZLEXCOUNT", "ZRANGEBYLEX", "ZREVRANGEBYLEX", "XPENDING",
		"GEODIST", "GEOHASH", "GEOPOS", "GEOSEARCH")
	add(Traits{keys: keysTwo, at: 1, reach: reachServer}, "LCS") // it allocates the product of two lengths
	add(Traits{keys: keysAll, at: 1}, "EXISTS", "MGET", "TOUCH", "WATCH", "SINTER", "SUNION", "SDIFF", "PFCOUNT")
	add(Traits{keys: keysCounted, at: 1}, "ZUNION", "ZINTER", "ZDIFF", "ZINTERCARD", "SINTERCARD")

	add(Traits{keys: keysOne, at: 1, Writes: true}, "SET", "SETNX", "SETEX", "PSETEX", "GETSET", "GETEX", "APPEND", "SETRANGE", "SETBIT",
		"INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "HSET",
		"HSETNX", "HMSET", "HINCRBY", "HINCRBYFLOAT", "LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "LSET", "LINSERT", "SADD", "ZADD", "ZINCRBY",
		"XADD", "XACK", "XCLAIM", "XAUTOCLAIM", "XSETID", "PFADD", "BITFIELD", "GEOADD", "HPERSIST")
	add(Traits{keys: keysOne, at: 1, Writes: true, reach: reachServer}, "RESTORE") // what it restores may be damaged
	add(Traits{keys: keysOne, at: 2, Writes: true, words: []string{"CREATE", "CREATECONSUMER", "DELCONSUMER", "DESTROY", "SETID"}}, "XGROUP")
	add(Traits{keys: keysAll, at: 1, Writes: true}, "PFMERGE")
	add(Traits{keys: keysPairs, at: 1, Writes: true}, "MSET", "MSETNX")
	add(Traits{keys: keysTwo, at: 1, Writes: true}, "COPY")

	add(Traits{keys: keysOne, at: 1, Writes: true, Drops: true, reach: reachServer}, "MOVE")
	add(Traits{keys: keysOne, at: 1, Writes: true, Drops: true}, "GETDEL", "DELEX", "DELIFEQ", "XDEL", "XTRIM", "HEXPIRE", "HPEXPIRE", "HDEL",
		"LPOP", "RPOP", "LREM", "LTRIM", "SREM", "SPOP",
		"ZREM", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "ZREMRANGEBYLEX", "ZPOPMIN", "ZPOPMAX")
	add(Traits{keys: keysAll, at: 1, Writes: true, Drops: true}, "DEL", "UNLINK", "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE")
	add(Traits{keys: keysAll, at: 2, Writes: true, Drops: true}, "BITOP")
	add(Traits{keys: keysCounted, at: 2, dest: 1, Writes: true, Drops: true}, "ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE")
	add(Traits{keys: keysTwo, at: 1, Writes: true, Drops: true}, "RENAME", "RENAMENX", "RPOPLPUSH", "LMOVE", "SMOVE", "ZRANGESTORE", "GEOSEARCHSTORE")
	add(Traits{keys: keysCounted, at: 1, Writes: true, Drops: true}, "LMPOP", "ZMPOP")
	add(Traits{keys: keysCounted, at: 2, reach: reachScript}, "EVAL_RO", "EVALSHA_RO")
	add(Traits{keys: keysCounted, at: 2, Writes: true, Drops: true, reach: reachScript}, "EVAL", "EVALSHA")
	add(Traits{keys: keysCounted, at: 2, reach: reachServer}, "FCALL_RO") // nobody sees what a function does
	add(Traits{keys: keysCounted, at: 2, Writes: true, Drops: true, reach: reachServer}, "FCALL")

	add(Traits{keys: keysAllButOne, at: 1, Writes: true, Drops: true, Blocks: true}, "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX")
	add(Traits{keys: keysTwo, at: 1, Writes: true, Drops: true, Blocks: true}, "BRPOPLPUSH", "BLMOVE")
	add(Traits{keys: keysCounted, at: 2, Writes: true, Drops: true, Blocks: true}, "BLMPOP", "BZMPOP")
	return table
}

// Find looks a command up, without allocating for those in the table.
func (table Table) Find(args [][]byte) Traits {
	const longest = 32
	name := args[0]
	if len(name) > longest {
		return unknown(string(bytes.ToUpper(name[:longest])))
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
	if t.Name == "XREAD" || t.Name == "XREADGROUP" {
		t.Blocks = slices.ContainsFunc(args, func(arg []byte) bool { return bytes.EqualFold(arg, []byte("BLOCK")) })
	}
	return t
}

func unknown(name string) Traits {
	return Traits{Name: name, keys: keysAny, at: 1, Writes: true, Drops: true, reach: reachServer}
}

// WatchedKeys lists the watched keys that a command names, without duplicates.
func (t Traits) WatchedKeys(args [][]byte, watch func(string) bool) []string {
	var keys []string
	t.eachKey(args, func(arg []byte) {
		if key := string(arg); watch(key) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	})
	return keys
}

// eachKey calls do for each key that a command names.
func (t Traits) eachKey(args [][]byte, do func(key []byte)) {
	if 0 < t.dest && t.dest < len(args) {
		do(args[t.dest])
	}
	from, to, step := t.keyRange(args)
	for i := from; i < to; i += step {
		do(args[i])
	}
}

// keyRange is the range of the keys among the arguments, of which there may be too few.
func (t Traits) keyRange(args [][]byte) (from, to, step int) {
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
	case keysStreams:
		if from = afterStreams(args); from > 0 {
			return from, from + (len(args)-from)/2, 1
		}
	}
	return 0, 0, 1
}

// afterStreams is where the keys of XREAD and XREADGROUP begin, as servers read their options; 0 if there are none.
func afterStreams(args [][]byte) int {
	for i := 1; i < len(args); {
		switch upper(args, i) {
		case "STREAMS":
			return i + 1
		case "NOACK":
			i++
		case "COUNT", "BLOCK", "CLAIM":
			i += 2
		case "GROUP":
			i += 3
		default:
			return 0
		}
	}
	return 0
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
