package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unreachable is a lock whose library does not get a connection.
type unreachable struct{ pinged chan struct{} }

func (unreachable) Acquire(context.Context) (Grant, error) { return Grant{OK: true}, nil }
func (unreachable) Release(context.Context) (bool, error)  { return true, nil }

func (u unreachable) Ping(ctx context.Context) error {
	close(u.pinged)
	<-ctx.Done()
	return ctx.Err()
}

// TestReconnectWaitsForNoOperation: requests are read while a library connects, and an operation comes before that.
func TestReconnectWaitsForNoOperation(t *testing.T) {
	in, out := io.Pipe()
	bound := time.AfterFunc(20*time.Second, func() { in.CloseWithError(errors.New("no answer")) })
	defer bound.Stop()
	c := &client{handles: map[string]*handle{}, operations: map[int64]*operation{}, out: json.NewEncoder(out)}
	c.open = func(Options) (Lock, error) { return unreachable{make(chan struct{})}, nil }
	h, err := c.newHandle(request{})
	require.NoError(t, err)
	c.handles["C1"] = h
	go func() {
		c.serve(request{ID: 1, Do: "reconnect"})
		<-h.lock.(unreachable).pinged
		c.serve(request{ID: 2, Do: "acquire", Handle: "C1"})
	}()
	answers, outcomes := json.NewDecoder(in), map[int64]string{}
	for range 2 {
		var a struct {
			ID      int64  `json:"id"`
			Outcome string `json:"outcome"`
		}
		require.NoError(t, answers.Decode(&a))
		outcomes[a.ID] = a.Outcome
	}
	require.Equal(t, map[int64]string{1: "ok", 2: "ok"}, outcomes)
}
