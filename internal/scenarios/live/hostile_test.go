//go:build linux || darwin

package live_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/hostile"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// TestLocksOfTheLabBesideHostileClients: the lab's own locks share servers and processes with each other, and none of them with a hostile client.
// All attacks, beside other clients of the same program, are made in internal/endtoend.
func TestLocksOfTheLabBesideHostileClients(t *testing.T) {
	needs.Long(t, "hostile clients beside every lock")
	attacks := []string{"flushdb", "flush-by-script", "shutdown", "client-kill", "empty-requests", "no-resp", "connections", "answers-twice"}
	for _, kind := range []string{live.Embedded, live.RedisServer} {
		t.Run(kind, func(t *testing.T) {
			if _, _, err := redis.Find(); err != nil && kind == live.RedisServer {
				t.Skip(err)
			}
			t.Parallel()
			s := openStage(t, func(c *live.Config) { c.Server = kind })
			var all sync.WaitGroup
			run := func(subject play.Subject, name, text, verdict string) {
				all.Go(func() {
					cell := s.Run(t.Context(), lab.Case{Subject: subject, Script: script(t, name, text), Round: 1})
					assert.Regexp(t, verdict, cell.Verdict.String(), name)
					assert.Empty(t, cell.Failure, name)
				})
			}
			for _, name := range attacks {
				attack, ok := hostile.Find(name)
				require.True(t, ok, name)
				text := strings.ReplaceAll(oneTurn, "C1", name)
				run(play.Subject{Name: "setpx-lua", Argv: servertest.As("hostile")}, name, text, attack.Verdict)
				run(subject(t, "setpx-lua"), "beside-"+name, oneTurn, "^safe$")
			}
			all.Wait()
		})
	}
}
