package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/worker/client"
)

func TestOutcome(t *testing.T) {
	taken, broken := errors.New("taken"), errors.New("broken")
	for _, c := range []struct {
		err, unknown error
		done         bool
	}{
		{nil, nil, true}, {taken, nil, false}, {fmt.Errorf("lock: %w", taken), nil, false}, {broken, broken, false},
	} {
		done, err := client.Outcome(c.err, errors.New("other"), taken)
		require.Equal(t, c.done, done, "%v", c.err)
		require.Equal(t, c.unknown, err)
	}
}

// TestLeave: a call that goes on after its context is left to itself, and what comes of it is told.
func TestLeave(t *testing.T) {
	failed := errors.New("failed")
	require.Equal(t, failed, client.Leave(t.Context(), func() error { return failed }, nil))

	ctx, cancel := context.WithCancel(t.Context())
	goOn, late := make(chan error), make(chan error)
	cancel()
	err := client.Leave(ctx, func() error { return <-goOn }, func(err error) { late <- err })
	require.Equal(t, context.Canceled, err)
	goOn <- failed
	require.Equal(t, failed, <-late)
}
