package screen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
)

// TestShrinkCommand: shrinking starts a client only by the user's word, so the command names it.
func TestShrinkCommand(t *testing.T) {
	run := &record.Run{Dir: "r", Command: []string{"storm", "--client=sh lock", "--server", "redis-server", "--like", "redlock"}}
	own, foreign := record.Cell{Lock: "setpx-lua", Scenario: "storm"}, record.Cell{Lock: "mine", Scenario: "storm", Client: []string{"/bin/sh", "-c", "sh lock"}}
	require.Equal(t, "shrink r setpx-lua/storm", format.ShellLine(shrinkCommand(run, own)))
	require.Equal(t, "shrink r mine/storm --client 'sh lock' --like redlock --server redis-server", format.ShellLine(shrinkCommand(run, foreign)))
	run.Command[3] = "127.0.0.1:6379"
	require.Equal(t, "shrink r mine/storm --client 'sh lock' --like redlock", format.ShellLine(shrinkCommand(run, foreign)), "no script is played at an address")
}
