package kits_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// TestRequestsAreReadDuringReconnect: requests are read while a library connects, however long that takes.
func TestRequestsAreReadDuringReconnect(t *testing.T) {
	t.Parallel()
	subject := adapter(t, `
class Slow(Lock):
    connected = threading.Event()

    def ping(self):
        self.connected.wait()

    def close(self):
        self.connected.set()

locklab.serve(Slow, name="slow")
`)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	client := exec.CommandContext(ctx, subject.Argv[0], subject.Argv[1:]...)
	in, err := client.StdinPipe()
	require.NoError(t, err)
	out, err := client.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, client.Start())
	defer func() { _ = client.Wait() }()
	defer stop()

	requests, answers := json.NewEncoder(in), json.NewDecoder(out)
	nobody := []string{"127.0.0.1:1"}
	for _, request := range []protocol.Request{
		{ID: 1, Do: protocol.Init, Version: protocol.Version, Servers: nobody},
		{ID: 2, Do: protocol.Open, Handle: "h1", Key: "K", LeaseMS: 1000},
		{ID: 3, Do: protocol.Open, Handle: "h2", Key: "K", LeaseMS: 1000},
		{ID: 4, Do: protocol.Reconnect},
		{ID: 5, Do: protocol.Cancel, Op: 99},
		{ID: 6, Do: protocol.Close, Handle: "h2"}, // it ends the wait
	} {
		require.NoError(t, requests.Encode(request))
	}
	outcomes := map[int64]string{}
	for len(outcomes) < 6 {
		var answer protocol.Message
		require.NoError(t, answers.Decode(&answer))
		if answer.ID > 0 {
			outcomes[answer.ID] = answer.Outcome
		}
	}
	require.Equal(t, map[int64]string{1: "ok", 2: "ok", 3: "ok", 4: "ok", 5: "no", 6: "ok"}, outcomes)
}
