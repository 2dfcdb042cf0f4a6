//go:build linux || darwin

package live_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios/live"
)

// attacks are what an odd client sends to the server instead of doing what it was asked.
var attacks = map[string]string{
	"flush": "FLUSHALL\r\n", "configure": "CONFIG SET maxmemory 1\r\n", "shut": "SHUTDOWN NOSAVE\r\n", "evict": "CLIENT KILL TYPE normal\r\n",
	"debug": "DEBUG SEGFAULT\r\n", "lockout": "ACL SETUSER default off\r\n", "spy": "MONITOR\r\n", "stall": "CLIENT PAUSE 100000\r\n",
	"garbage": "*2\r\n:1\r\n\x00\xff\r\n", "large": "*2\r\n$4\r\nECHO\r\n$419430400\r\n", "many": "*99999999\r\n",
	"spin":    "*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n",
	"swallow": "*3\r\n$4\r\nEVAL\r\n$74\r\nlocal t = {} for i = 1, 200 do t[i] = string.rep('x', 50000000 + i) end   \r\n$1\r\n0\r\n",
}

// attack sends bytes to a server and waits until the connection ends.
func attack(addr, bytes string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(conn, bytes); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, conn)
	select {} // the lab ends this process
}

// TestHostileClients: each loses its own cell, with a reason that is about the client. What its neighbours do is judged as ever.
func TestHostileClients(t *testing.T) {
	reasons := map[string]string{
		"flush": "C1 sent FLUSHALL to redis, which the lab refuses", "configure": "C1 sent CONFIG SET to redis", "shut": "C1 sent SHUTDOWN to redis",
		"evict": "C1 sent CLIENT KILL", "debug": "C1 sent DEBUG", "lockout": "C1 sent ACL SETUSER", "spy": "C1 sent MONITOR", "stall": "C1 sent CLIENT PAUSE",
		"garbage": "client C1 to redis: no valid RESP", "large": "client C1 to redis: argument of announced length 419430400",
		"many": "client C1 to redis: request of announced 99999999 arguments", "spin": "redis did not answer C1's EVAL within 10s",
		"swallow": "",
	}
	for _, kind := range []string{live.Embedded, live.RedisServer} {
		t.Run(kind, func(t *testing.T) {
			if _, _, err := server.FindRedis(); err != nil && kind == live.RedisServer {
				t.Skip(err)
			}
			s := openStage(t, func(c *live.Config) { c.Server = kind })
			var all sync.WaitGroup
			for how, reason := range reasons {
				all.Go(func() {
					cell := s.Run(t.Context(), lab.Case{Subject: foreign("setpx-lua", how+" work"), Script: script(t, how, oneTurn), Round: 1})
					assert.Equal(t, checker.Undecided, cell.Verdict.Kind, "%s: %s", how, cell.Verdict)
					assert.Contains(t, cell.Verdict.Reason, reason)
					assert.Empty(t, cell.Failure, how)
				})
				all.Go(func() {
					cell := s.Run(t.Context(), lab.Case{Subject: foreign("setpx-lua", "none none"), Script: script(t, "beside-"+how, oneTurn), Round: 1})
					assert.Equal(t, "safe", cell.Verdict.String(), "a stranger beside %s", how)
				})
				all.Go(func() {
					cell := s.Run(t.Context(), lab.Case{Subject: subject(t, "setpx-lua"), Script: script(t, "own-beside-"+how, oneTurn), Round: 1})
					assert.Equal(t, "safe", cell.Verdict.String(), "a lock of the lab beside %s", how)
				})
			}
			all.Wait()
		})
	}
}
