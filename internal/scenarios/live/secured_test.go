//go:build linux || darwin

package live_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// Where the lab has said to a server who it is and which database it uses, a client may say what does not change that. What it says of passwords is in no
// history.
func TestClientsThatSayWhoTheyAre(t *testing.T) {
	at := theirRedis(t)
	direct := dialServer(t, at.Addr())
	for _, command := range []string{"ACL SETUSER lab on >the-labs-secret ~*locklab:* &* +@all", "ACL SETUSER theirs on >their-secret ~*locklab:* &* +@all"} {
		var args []any
		for word := range strings.FieldsSeq(command) {
			args = append(args, word)
		}
		require.NoError(t, direct.Do(t.Context(), args...).Err())
	}
	s := openStage(t, func(cfg *live.Config) {
		cfg.Server, cfg.Credentials.Password = "redis://lab@"+at.Addr()+"/5", "the-labs-secret"
	})
	for command, refused := range map[string]string{
		"AUTH theirs their-secret":         "",
		"AUTH theirs wrong-secret":         "",
		"HELLO 2 AUTH theirs their-secret": "",
		"HELLO 2":                          "",
		"SELECT 5":                         "",
		"SELECT 0":                         "the lab uses database 5 only",
		"SELECT 05":                        "the lab uses database 5 only",
		"RESET":                            "it would end what the lab has said to the server",
	} {
		t.Run(command, func(t *testing.T) {
			cell, events := s.playScript(t, script(t, command, twoTurns), foreign("setpx-lua", "send acquire "+command))
			if refused == "" {
				require.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
			} else {
				require.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
				assert.Contains(t, cell.Verdict.Reason, refused)
			}
			assert.NotContains(t, cell.Verdict.Reason, "secret")
			for _, e := range events {
				assert.NotContains(t, fmt.Sprint(e.Command(), e.Detail), "secret")
			}
		})
	}
	require.NoError(t, s.close())
	require.Empty(t, dialServer(t, at.Addr()).Info(t.Context(), "keyspace").Val()[len("# Keyspace\r\n"):], "no database has a key")
}

// A server whose password changes amid a run does not let the lab in any more. The cell fails, and says why.
func TestAPasswordThatChanges(t *testing.T) {
	at := theirRedis(t)
	direct := dialServer(t, at.Addr())
	require.NoError(t, direct.Do(t.Context(), "ACL", "SETUSER", "lab", "on", ">the-labs-secret", "~*locklab:*", "&*", "+@all").Err())
	s := openStage(t, func(cfg *live.Config) {
		cfg.Server, cfg.Credentials.Password = "redis://lab@"+at.Addr(), "the-labs-secret"
	})
	require.NoError(t, direct.Do(t.Context(), "ACL", "SETUSER", "lab", "resetpass", ">another").Err())
	t.Cleanup(func() { // so that the keys can be deleted
		require.NoError(t, direct.Do(context.Background(), "ACL", "SETUSER", "lab", ">the-labs-secret").Err())
	})
	cell := s.Run(t.Context(), lab.Case{Subject: subject(t, "setpx-lua"), Script: script(t, "another password", twoTurns), Round: 1})
	assert.Contains(t, cell.Failure, "redis at redis://lab:***@"+at.Addr()+`: it refuses user "lab", or the password: WRONGPASS`)
	assert.NotContains(t, cell.Failure, "secret")
}
