package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// attacked is a tap whose client has sent a command that the lab refuses.
func attacked(t *testing.T) *tap.Tap {
	t.Helper()
	s, err := redis.StartEmbedded()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	table := commands.NewTable()
	seen, err := tap.New(t.Context(), tap.Config{Server: "redis", Upstream: s.Addr(), Refuse: table.Refusal})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, seen.Close()) })
	addr, err := seen.Listen("C1")
	require.NoError(t, err)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("FLUSHALL\r\n"))
	require.NoError(t, err)
	<-seen.Done()
	return seen
}

// TestFailuresOfTheLabComeFirst: what a client did explains an error of its server and an error that ends with the cell, and nothing else.
func TestFailuresOfTheLabComeFirst(t *testing.T) {
	misbehaves := []*tap.Tap{attacked(t)}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("the proxy refuses")
	const client = "tap: client C1 sent FLUSHALL to redis, which the lab refuses: it removes keys that are not the client's"
	tests := map[string]struct {
		ctx        context.Context
		err        error
		taps       []*tap.Tap
		text, says string
	}{
		"nothing":                       {t.Context(), nil, nil, history.EndedComplete, ""},
		"a client":                      {t.Context(), nil, misbehaves, history.EndedUnknown, client},
		"the lab":                       {t.Context(), broken, nil, history.EndedFailed, "the proxy refuses"},
		"the lab and a client":          {t.Context(), broken, misbehaves, history.EndedFailed, "the proxy refuses"},
		"the script and a client":       {t.Context(), play.PremiseMissed("no"), misbehaves, history.EndedUnknown, client},
		"the client's server":           {t.Context(), fmt.Errorf("reading: %w", atServer(broken)), misbehaves, history.EndedUnknown, client},
		"a server":                      {t.Context(), atServer(broken), nil, history.EndedFailed, "the proxy refuses"},
		"the end of the cell, a client": {over, broken, misbehaves, history.EndedUnknown, client},
		"the end of the cell":           {over, broken, nil, history.EndedInterrupted, "interrupted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &cell{taps: test.taps, memory: new(memory)}
			end, err := c.ending(test.ctx, test.err, labFailure(test.ctx, test.err))
			assert.Equal(t, test.text, end.Detail.Text)
			assert.Equal(t, test.says, end.Detail.Why)
			assert.Equal(t, test.text == history.EndedComplete, err == nil)
		})
	}
}

// TestAnIdleServerAnswers: who takes a living server for a dying one waits for its end in vain.
func TestAnIdleServerAnswers(t *testing.T) {
	s, err := redis.StartEmbedded()
	require.NoError(t, err)
	assert.True(t, mortality{addr: s.Addr()}.answers())
	require.NoError(t, s.Close())
	assert.False(t, mortality{addr: s.Addr()}.answers())
}

// TestTheMachineIsNoClient: what a limit of the machine prevents is a failure of the lab, and what a client did is not.
func TestTheMachineIsNoClient(t *testing.T) {
	assert.NoError(t, trouble(nil))
	for err, text := range map[error]string{
		&tap.HostError{Err: syscall.EMFILE}:  history.EndedFailed,
		errors.New("a client sent FLUSHALL"): history.EndedUnknown,
	} {
		end := play.EndOf(trouble(err))
		assert.Equal(t, text, end.Detail.Text, err.Error())
		assert.Equal(t, err.Error(), end.Detail.Why)
	}
	for name, test := range map[string]struct {
		argv []string
		err  error
		text string
	}{
		"a foreign program that is not there": {[]string{"nowhere"}, syscall.ENOENT, history.EndedUnknown},
		"a foreign program, no file left":     {[]string{"nowhere"}, fmt.Errorf("pipe2: %w", syscall.EMFILE), history.EndedFailed},
		"the lab's own program":               {nil, syscall.ENOENT, history.EndedFailed},
	} {
		p := &peer{client: &play.Client{Name: "C1"}, cell: &cell{subject: play.Subject{Argv: test.argv}}}
		end := play.EndOf(p.notStarted(test.err))
		assert.Equal(t, test.text, end.Detail.Text, name)
		assert.Contains(t, end.Detail.Why, "client C1 could not be started: ", name)
	}
}
