package commands

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRefusal: whatever a command's arguments are, none that empties, ends or takes over the server is let through, nor one at an address that
// names somebody else's key beside the client's.
func FuzzRefusal(f *testing.F) {
	for _, command := range []string{
		"flushall\nasync", "EVAL\nredis.call('del', KEYS[1], 'theirs')\n1\nmine:a", "XREADGROUP\nGROUP\ng\nc\nSTREAMS\nmine:s\n>", "CLIENT\nkill\nID\n7",
		"SORT\nmine:a\nBY\nmine:*\nGET\n#", "ZUNIONSTORE\nmine:z\n2\nmine:a\nmine:b", "MIGRATE\nh\n1\nmine:a\n0\n1", "PSUBSCRIBE\nmine:[ab]*", "",
	} {
		f.Add(command)
	}
	table := NewTable()
	own := func(name []byte) bool { return bytes.Contains(name, []byte("mine:")) }
	never := []string{"FLUSHALL", "FLUSHDB", "SWAPDB", "SHUTDOWN", "REPLICAOF", "SLAVEOF", "MODULE", "DEBUG", "MIGRATE", "MONITOR", "SYNC", "PSYNC"}
	f.Fuzz(func(t *testing.T, text string) {
		args := bytes.Split([]byte(text), []byte("\n"))
		ours, theirs := table.Refusal(args), table.NewScope(own).Refusal(args)
		name := strings.ToUpper(string(args[0]))
		if slices.Contains(never, name) {
			require.NotEmpty(t, ours, text)
			require.NotEmpty(t, theirs, text)
		}
		if slices.Contains([]string{"DEL", "UNLINK", "EXISTS", "MGET", "RENAME"}, name) && !slices.ContainsFunc(args[1:], own) {
			require.NotEmpty(t, theirs, text)
		}
	})
}
