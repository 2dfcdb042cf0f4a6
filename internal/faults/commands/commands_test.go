package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKeysOfCommands(t *testing.T) {
	tests := []struct {
		command string
		keys    []string // of k1 to k4, which are watched
	}{
		{"GET k1", []string{"k1"}},
		{"get k1", []string{"k1"}},
		{"GET", nil},
		{"SET x k1", nil},
		{"SET k1 k2", []string{"k1"}},
		{"DEL x k1 k2 k1", []string{"k1", "k2"}},
		{"MSET k1 k2 x k3 k4", []string{"k1", "k4"}},
		{"RENAME k1 k2", []string{"k1", "k2"}},
		{"RENAME x", nil},
		{"EVAL k1 2 k2 x k3", []string{"k2"}},
		{"EVALSHA k1 0 k2", nil},
		{"EVAL k1 -1 k2", nil},
		{"EVAL k1 99999999999999999999 k2", nil},
		{"EVAL k1 7 k2", []string{"k2"}},
		{"FCALL k1", nil},
		{"BLPOP k1 k2 0", []string{"k1", "k2"}},
		{"BLPOP", nil},
		{"BLMPOP 0 1 k1 LEFT", []string{"k1"}},
		{"LMPOP 1 k1 LEFT", []string{"k1"}},
		{"PUBLISH k1 k2", nil},
		{"OBJECT ENCODING k1", []string{"k1"}},
		{"CUSTOM x k1 k2", []string{"k1", "k2"}},
		{"k1", nil},
		{strings.Repeat("LONG", 20) + " k1", []string{"k1"}},
	}
	table := NewTable()
	for _, tt := range tests {
		args := split(tt.command)
		assert.Equal(t, tt.keys, table.Find(args).WatchedKeys(args, func(key string) bool { return strings.HasPrefix(key, "k") }), tt.command)
	}
}

func TestTraitsOfCommands(t *testing.T) {
	tests := []struct {
		command                      string
		writes, drops, blocks, aside bool
	}{
		{"GET k", false, false, false, false},
		{"set k v", true, false, false, false},
		{"UNLINK k", true, true, false, false},
		{"EVAL_RO script 1 k", false, false, false, false},
		{"EVALSHA sha 1 k", true, true, false, false},
		{"XREAD STREAMS k 0", false, false, false, false},
		{"xread block 0 STREAMS k 0", false, false, true, false},
		{"BLPOP k 0", true, true, true, false},
		{"WAIT 1 0", false, false, true, false},
		{"CLIENT UNPAUSE", false, false, false, true},
		{"SUBSCRIBE c", false, false, false, true},
		{"CUSTOM k", true, true, false, false},
	}
	table := NewTable()
	for _, tt := range tests {
		got := table.Find(split(tt.command))
		assert.Equal(t, []bool{tt.writes, tt.drops, tt.blocks, tt.aside}, []bool{got.Writes, got.Drops, got.Blocks, got.Unordered}, tt.command)
	}
}

func split(command string) [][]byte {
	var args [][]byte
	for _, arg := range strings.Fields(command) {
		args = append(args, []byte(arg))
	}
	return args
}

func TestClip(t *testing.T) {
	long := strings.Repeat("a", 199) + "ä"
	assert.Equal(t, "plain \\ \"text\"", Clip("plain \\ \"text\""))
	assert.Equal(t, "", Clip(""))
	assert.Equal(t, `"a\nb"`, Clip("a\nb"))
	assert.Equal(t, strings.Repeat("a", 199)+"…", Clip(long), "no character is cut in two")
	assert.NotEqual(t, ClipValue(long+"b"), ClipValue(long+"c"))
	assert.True(t, strings.HasSuffix(ClipValue(long), "…"))

	many := ClipArguments(split(strings.Repeat("a ", 100)))
	assert.Len(t, many, clipArgs+1)
	assert.Equal(t, "…", many[clipArgs])
	assert.Equal(t, []string{"SET", "k", "v"}, ClipArguments(split("SET k v")))
}
