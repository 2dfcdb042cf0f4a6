package commands

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// In these tests, what contains "mine:" is somebody's own.
func TestWhatIsOutside(t *testing.T) {
	own := func(name []byte) bool { return bytes.Contains(name, []byte("mine:")) }
	scope := NewTable().NewScope(own)
	script := func(source string, tail ...string) []string { return append([]string{"EVAL", source}, tail...) }
	within := [][]string{
		{"GET", "mine:a"}, {"set", "mine:a", "x"}, {"SETNX", "wrapped{mine:a}", "x"}, {"DEL", "mine:a", "mine:b"}, {"MSET", "mine:a", "1", "mine:b", "2"},
		{"PING"}, {"HELLO", "3"}, {"SELECT", "0"}, {"MULTI"}, {"EXEC"}, {"INFO"}, {"COMMAND"}, {"TIME"}, {"WAIT", "1", "0"},
		{"CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "internal-ip"}, {"CLIENT", "SETNAME", "theirs"}, {"client", "setinfo", "LIB-NAME", "x"}, {"CLIENT", "TRACKING", "ON", "OPTIN"},
		{"PUBLISH", "mine:c", "theirs"}, {"SUBSCRIBE", "mine:c", "mine:d"}, {"PSUBSCRIBE", "__keyspace@0__:mine:a"},
		{"PSUBSCRIBE", "mine:[ab]*"}, {"UNSUBSCRIBE"},
		{"SCRIPT", "LOAD", "return 1"}, {"SCRIPT", "EXISTS", "abc"}, {"EVALSHA", "abc", "1", "mine:a", "theirs"}, {"EVALSHA_RO", "abc", "0"},
		{"XREADGROUP", "GROUP", "STREAMS", "mine:x", "NOACK", "STREAMS", "mine:s", ">"}, {"COPY", "mine:a", "mine:b", "replace"},
		{"SETRANGE", "mine:a", "1000000", "x"}, {"SETBIT", "mine:a", "8000000", "1"}, {"BITFIELD", "mine:a", "GET", "u8", "#4000000000", "SET", "u8", "#5", "1"},
		{"SRANDMEMBER", "mine:a", "100"}, {"XAUTOCLAIM", "mine:s", "g", "c", "0", "0", "COUNT", "10", "JUSTID"}, {"LMPOP", "1", "mine:a", "LEFT"},
		{"XREAD", "COUNT", "1", "STREAMS", "mine:s", "0"}, {"OBJECT", "ENCODING", "mine:a"}, {"ZUNIONSTORE", "mine:z", "2", "mine:a", "mine:b"},
		{"COPY", "mine:a", "mine:b"}, {"BLPOP", "mine:a", "0"}, {"BITOP", "AND", "mine:a", "mine:b"},
		script("return redis.call('get', KEYS[1])", "1", "mine:a"), script("return redis.call('TIME')", "0"), script("return 1", "0"),
		script(`redis.call("PUBLISH", "mine:c", 1)`, "1", "mine:a"), script(`redis.call("PUBLISH", KEYS[1] .. ARGV[1], 1)`, "1", "mine:a"),
		script("redis.call('get', KEYS[1])", "0", "mine:a"), script("redis.call('zadd', KEYS[1], unpack(ARGV))", "1", "mine:a"),
		script("redis.call('del', unpack(KEYS))", "2", "mine:a", "mine:b"), script("redis.call('mset', KEYS[1], ARGV[1], KEYS[2], ARGV[2])", "2", "mine:a", "mine:b"),
		script("for _, key in ipairs(KEYS) do redis.call('del', key) end", "1", "mine:a"), script("redis.call('setrange', KEYS[1], 5, ARGV[1])", "1", "mine:a"),
		script("redis.call('zunionstore', KEYS[1], 2, KEYS[2], KEYS[3])", "3", "mine:a", "mine:b", "mine:c"), {"SCRIPT", "LOAD", "return redis.call('get', KEYS[1])"},
	}
	outside := [][]string{
		{"GET", "theirs"}, {"SET", "theirs", "mine:a"}, {"DEL", "mine:a", "theirs"}, {"MSET", "mine:a", "1", "theirs", "2"}, {"RENAME", "mine:a", "theirs"},
		{"FLUSHALL"}, {"flushdb"}, {"SWAPDB", "0", "1"}, {"SELECT", "1"}, {"SELECT"}, {"CONFIG", "SET", "x", "y"}, {"SHUTDOWN"}, {"DEBUG", "SLEEP", "1"},
		{"MONITOR"}, {"ACL", "SETUSER", "x"}, {"SCRIPT", "FLUSH"}, {"SCRIPT", "KILL"}, {"FUNCTION", "LOAD", "x"}, {"KEYS", "mine:*"}, {"SCAN", "0"}, {"DBSIZE"},
		{"CLIENT", "KILL", "ID", "1"}, {"CLIENT", "PAUSE", "1"}, {"CLIENT", "LIST"}, {"CLIENT"}, {"CLIENT", "TRACKING", "ON", "BCAST"}, {"CLUSTER", "RESET"},
		{"REPLICAOF", "NO", "ONE"}, {"BGSAVE"}, {"SAVE"}, {"MIGRATE", "h", "1", "mine:a", "0", "1"}, {"MODULE", "LOAD", "x"}, {"MOVE", "mine:a", "1"},
		{"SORT", "mine:a", "BY", "theirs*"}, {"SORT_RO", "mine:a", "GET", "theirs*"}, {"COPY", "mine:a", "mine:b", "DB", "1"}, {"UNHEARD-OF", "mine:a"},
		{"PUBLISH", "theirs", "mine:c"}, {"SUBSCRIBE", "mine:c", "theirs"}, {"PSUBSCRIBE", "*"}, {"PSUBSCRIBE", "[mine:]*"}, {"PSUBSCRIBE", "?mine:"},
		{"PUBSUB", "CHANNELS"}, {"GET"}, {"MEMORY", "PURGE"},
		{"XREAD", "STREAMS", "mine:s", "theirs", "0", "0"}, {"XREADGROUP", "GROUP", "STREAMS", "mine:x", "STREAMS", "theirs", ">"},
		{"ZUNIONSTORE", "theirs", "1", "mine:a"}, {"ZUNIONSTORE", "mine:a", "1", "theirs"}, {"OBJECT", "ENCODING", "theirs"}, {"XGROUP", "CREATE", "theirs", "g", "0"},
		{"EVALSHA", "abc", "1", "theirs"}, {"EVALSHA", "abc", "-1"}, {"EVALSHA", "abc", "+1", "mine:a"}, {"EVALSHA", "abc", "2", "mine:a"}, {"EVALSHA", "abc"},
		{"FCALL", "f", "0"}, {"FCALL", "f", "1", "mine:a"}, {"FCALL_RO", "f", "1", "mine:a"}, {"EVAL"}, {"SCRIPT", "SHOW", "abc"}, {"SCRIPT"},
		{"ZUNIONSTORE", "mine:a", "0x1", "mine:b"}, {"LMPOP", "01", "mine:a", "LEFT"}, {"BLMPOP", "0", "2", "mine:a", "theirs", "LEFT"},
		{"XREADGROUP", "GROUP", "STREAMS", "mine:x", "STREAMS", "theirs", ">"}, {"XREAD", "UNHEARD-OF", "STREAMS", "mine:s", "0"}, {"XREAD", "STREAMS"},
		{"OBJECT", "HELP", "mine:a"}, {"MEMORY", "DOCTOR", "mine:a"}, {"XINFO", "HELP", "mine:a"}, {"XGROUP", "HELP", "mine:a"}, {"CLIENT", "NO-SUCH"},
		{"COPY", "mine:a", "mine:b", "REPLACE", "DB", "1"}, {"SORT", "mine:a", "STORE", "theirs"}, {"GEORADIUS", "mine:a", "1", "1", "1", "m", "STORE", "theirs"},
		{"GEOSEARCHSTORE", "theirs", "mine:a"}, {"ZRANGESTORE", "theirs", "mine:a", "0", "1"}, {"BITOP", "NOT", "theirs", "mine:a"}, {"SMOVE", "mine:a", "theirs", "x"},
		{"RESTORE", "mine:a", "0", "x"}, {"LCS", "mine:a", "mine:b"}, {"OBJECT", "FREQ", "theirs"}, {"MEMORY", "USAGE", "theirs"}, {"DUMP", "theirs"},
		{"SETRANGE", "mine:a", "536870000", "x"}, {"SETRANGE", "mine:a", "x", "x"}, {"SETBIT", "mine:a", "4294967295", "1"}, {"SETBIT", "mine:a", "-1", "1"},
		{"BITFIELD", "mine:a", "SET", "u8", "4294967295", "1"}, {"BITFIELD", "mine:a", "OVERFLOW", "SAT", "INCRBY", "u64", "#67108863", "1"},
		{"BITFIELD", "mine:a", "UNHEARD-OF"}, {"SRANDMEMBER", "mine:a", "-1000"}, {"HRANDFIELD", "mine:a", "-1000000000"},
		{"ZRANDMEMBER", "mine:a", "-1000000000"}, {"XAUTOCLAIM", "mine:s", "g", "c", "0", "0", "COUNT", "1000000000"},
		script("return redis.call('get', KEYS[1])", "1", "theirs"), script("redis.call('FLUSHALL')", "1", "mine:a"), script("redis.pcall( \"flushall\" )", "0"),
		script("redis.call('del', 'theirs')", "1", "mine:a"), script("redis.call('keys', '*')", "1", "mine:a"), script("redis.call('get', ARGV[1])", "0", "mine:a"),
		script("local call = redis.call call('FLUSHALL')", "0"), script("_G['re' .. 'dis']['call']('FLUSHALL')", "0"), script("server.call('FLUSHALL')", "1", "mine:a"),
		script("redis.call('publish', 'theirs', 1)", "1", "mine:a"), {"SCRIPT", "LOAD", "redis.call('FLUSHALL')"},
		script(`redis.call"FLUSHALL"`, "1", "mine:a"), script("local c=redis.call; return c('DEL','user:2')", "1", "mine:a"),
		script("local call = redis.call return call('get', KEYS[1])", "1", "mine:a"), script("redis.call('get', KEYS[1])", "-1", "mine:a"),
		script("redis.call('get', KEYS[1])", "2", "mine:a"), script("redis.call('get', KEYS[1])", "x", "mine:a"), script("redis.call('get', KEYS[1])"),
		script("redis.call('del', 'mine:a')", "1", "mine:a"), script("redis.call('del', KEYS[1], ARGV[1])", "1", "mine:a"), script("redis.call('set', ARGV[1], 1)", "1", "mine:a"),
		script("redis.call('del', unpack(ARGV))", "1", "mine:a"), script("redis.call('del', KEYS[1], unpack(ARGV))", "1", "mine:a"),
		script("redis.call('mset', KEYS[1], 1, unpack(ARGV))", "1", "mine:a"), script("redis.call('mset', KEYS[1], unpack(ARGV))", "1", "mine:a"),
		script("redis.call('blpop', KEYS[1], unpack(ARGV))", "1", "mine:a"), script("redis.call('zunionstore', KEYS[1], ARGV[1], KEYS[1])", "1", "mine:a"),
		script("redis.call('zunionstore', KEYS[1], 1, ARGV[1])", "1", "mine:a"), script("redis.call('copy', KEYS[1], KEYS[2], ARGV[1], ARGV[2])", "2", "mine:a", "mine:b"),
		script("redis.call('copy', KEYS[1], KEYS[2], ARGV[1])", "2", "mine:a", "mine:b"), script("redis.call('copy', KEYS[1], KEYS[2], unpack(ARGV))", "2", "mine:a", "mine:b"),
		script("redis.call('xread', ARGV[1], 'STREAMS', KEYS[1], 0)", "1", "mine:a"), script("redis.call('xread', 'STREAMS', KEYS[1], KEYS[1], KEYS[1], unpack(ARGV))", "1", "mine:a"),
		script("redis.call('object', ARGV[1], KEYS[1])", "1", "mine:a"), script("redis.call('setrange', KEYS[1], ARGV[1], 'x')", "1", "mine:a"),
		script("redis.call('setrange', KEYS[1], unpack(ARGV))", "1", "mine:a"), script("redis.call('setbit', KEYS[1], 2^31, 1)", "1", "mine:a"),
		script("redis.call('bitfield', KEYS[1], 'GET', 'u8', unpack(ARGV))", "1", "mine:a"), script("redis.call('bitfield', KEYS[1], unpack(ARGV))", "1", "mine:a"),
		script("redis.call('srandmember', KEYS[1], ARGV[1])", "1", "mine:a"), script("redis.call('xautoclaim', KEYS[1], 'g', 'c', 0, 0, unpack(ARGV))", "1", "mine:a"),
		script("redis.call('eval', ARGV[1], 0)", "1", "mine:a"), script("redis.call('evalsha', ARGV[1], 0)", "1", "mine:a"), script("redis.call('fcall', 'f', 0)", "1", "mine:a"),
		script("redis.call('select', 1)", "1", "mine:a"), script("redis.call('script', 'flush')", "1", "mine:a"), script("redis.call('client', 'list')", "1", "mine:a"),
		script("redis.call('sort', KEYS[1], 'by', ARGV[1])", "1", "mine:a"), script("redis.call('randomkey')", "1", "mine:a"), script("redis.call('scan', 0)", "1", "mine:a"),
		script("redis.call('dbsize')", "0"), script("redis.call('swapdb', 0, 1)", "1", "mine:a"), script("redis.call('config', 'get', '*')", "1", "mine:a"),
		script("redis.call('publish', ARGV[1], 1)", "1", "mine:a"), script("redis.call('publish', unpack(ARGV))", "1", "mine:a"), script("redis.call('info')", "0"),
	}
	for _, command := range within {
		assert.Empty(t, scope.Refusal(byteArgs(command)), command)
	}
	for _, command := range outside {
		assert.NotEmpty(t, scope.Refusal(byteArgs(command)), command)
	}
}

// A script that is named by its hash is known once its text has come through, in whatever way, and stays within the scope.
func TestUnseenScripts(t *testing.T) {
	scope := NewTable().NewScope(func(name []byte) bool { return bytes.Contains(name, []byte("mine:")) })
	source, wipe := "return redis.call('get', KEYS[1])", "redis.call('FLUSHALL')"
	hash := func(source string) string {
		sum := sha1.Sum([]byte(source))
		return hex.EncodeToString(sum[:])
	}
	unseen := func(args ...string) bool { return scope.Unseen(byteArgs(args)) }
	assert.True(t, unseen("EVALSHA", hash(source), "0"))
	assert.True(t, unseen("evalsha_ro", hash(source), "0"))
	assert.False(t, unseen("EVALSHA"))
	assert.False(t, unseen("EVAL", source, "0"))
	assert.Empty(t, scope.Refusal(byteArgs([]string{"EVAL", source, "0"})))
	assert.False(t, unseen("EVALSHA", hash(source), "0"))
	assert.False(t, unseen("EVALSHA_RO", strings.ToUpper(hash(source)), "0"))
	assert.NotEmpty(t, scope.Refusal(byteArgs([]string{"SCRIPT", "LOAD", wipe})))
	assert.True(t, unseen("EVALSHA", hash(wipe), "0"))
	assert.Empty(t, scope.Refusal(byteArgs([]string{"SCRIPT", "load", "return 1"})))
	assert.False(t, unseen("EVALSHA", hash("return 1"), "0"))
}

func byteArgs(texts []string) [][]byte {
	args := make([][]byte, len(texts))
	for i, text := range texts {
		args[i] = []byte(text)
	}
	return args
}
