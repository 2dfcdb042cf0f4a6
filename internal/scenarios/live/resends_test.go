//go:build linux || darwin

package live_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// TestALostReplyEndsTheConnection of a client whose library waits for that before it resends: the script comes to what it is about, without the
// time-out of a library.
func TestALostReplyEndsTheConnection(t *testing.T) {
	s := openStage(t, nil)
	script := builtin(t, "acquire-reply-lost-resent")
	cell, events := s.playScript(t, script, foreign("setpx-lua-resend", "persistent init"))
	assert.Contains(t, cell.Verdict.String(), "ghost-lock")
	conns := map[int64]time.Duration{}
	for _, e := range events {
		if e.Kind == history.KindCommand && e.Client == "C1" && e.Op == history.OpAcquire {
			conns[e.Command().Conn] = e.At
		}
	}
	require.Len(t, conns, 2, "the second SET goes over a new connection")
	for _, at := range conns {
		assert.Less(t, at, 3*time.Second, "go-redis waits for longer before it times out")
	}

	cell, _ = s.playScript(t, builtin(t, "acquire-reply-lost"), foreign("setpx-lua-resend", "persistent init"))
	assert.Equal(t, "n/a: the client library resends commands when a connection ends", cell.Verdict.String())
}
