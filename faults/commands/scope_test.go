package commands

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

// In these tests, what contains "mine:" is somebody's own.
func TestWhatIsOutside(t *testing.T) {
	own := func(name []byte) bool { return bytes.Contains(name, []byte("mine:")) }
	table := NewTable()
	script := func(source string, tail ...string) []string { return append([]string{"EVAL", source}, tail...) }
	within := [][]string{
		{"GET", "mine:a"}, {"set", "mine:a", "x"}, {"SETNX", "wrapped{mine:a}", "x"}, {"DEL", "mine:a", "mine:b"}, {"MSET", "mine:a", "1", "mine:b", "2"},
		{"PING"}, {"HELLO", "3"}, {"SELECT", "0"}, {"MULTI"}, {"EXEC"}, {"INFO"}, {"COMMAND"}, {"TIME"}, {"WAIT", "1", "0"},
		{"CLIENT", "SETNAME", "theirs"}, {"client", "setinfo", "LIB-NAME", "x"}, {"CLIENT", "TRACKING", "ON", "OPTIN"},
		{"PUBLISH", "mine:c", "theirs"}, {"SUBSCRIBE", "mine:c", "mine:d"}, {"PSUBSCRIBE", "__keyspace@0__:mine:a"},
		{"PSUBSCRIBE", "mine:[ab]*"}, {"UNSUBSCRIBE"},
		{"SCRIPT", "LOAD", "return 1"}, {"SCRIPT", "EXISTS", "abc"}, {"EVALSHA", "abc", "1", "mine:a", "theirs"}, {"FCALL", "f", "1", "mine:a"},
		{"XREAD", "COUNT", "1", "STREAMS", "mine:s", "0"}, {"OBJECT", "ENCODING", "mine:a"}, {"ZUNIONSTORE", "mine:z", "2", "mine:a", "mine:b"},
		{"COPY", "mine:a", "mine:b"}, {"BLPOP", "mine:a", "0"}, {"BITOP", "AND", "mine:a", "mine:b"},
		script("return redis.call('get', KEYS[1])", "1", "mine:a"), script("return redis.call('TIME')", "0"), script("return 1", "0"),
		script("local call = redis.call return call('get', KEYS[1])", "1", "mine:a"), script(`redis.call("PUBLISH", "mine:c", 1)`, "1", "mine:a"),
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
		{"EVALSHA", "abc", "1", "theirs"}, {"EVALSHA", "abc", "0"}, {"EVALSHA", "abc", "0", "mine:a"}, {"FCALL", "f", "0"}, {"EVAL"},
		script("return redis.call('get', KEYS[1])", "1", "theirs"), script("redis.call('FLUSHALL')", "1", "mine:a"), script("redis.pcall( \"flushall\" )", "0"),
		script("redis.call('del', 'theirs')", "1", "mine:a"), script("redis.call('keys', '*')", "1", "mine:a"), script("redis.call('get', ARGV[1])", "0", "mine:a"),
		script("local call = redis.call call('FLUSHALL')", "0"), script("_G['re' .. 'dis']['call']('FLUSHALL')", "0"), script("server.call('FLUSHALL')", "1", "mine:a"),
		script("redis.call('publish', 'theirs', 1)", "1", "mine:a"),
	}
	for _, command := range within {
		assert.Empty(t, table.Refusal(byteArgs(command), own), command)
	}
	for _, command := range outside {
		assert.NotEmpty(t, table.Refusal(byteArgs(command), own), command)
	}
}

func byteArgs(texts []string) [][]byte {
	args := make([][]byte, len(texts))
	for i, text := range texts {
		args[i] = []byte(text)
	}
	return args
}
