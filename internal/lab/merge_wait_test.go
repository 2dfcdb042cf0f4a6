package lab_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
)

// It waits for a part that comes later, and not for ever.
func TestAwaitParts(t *testing.T) {
	cases := someCases(t, 1)
	first := runSim(t, t.Context(), cases, lab.Shard{Index: 1, Of: 2}, nil).Dir
	second := runSim(t, t.Context(), cases, lab.Shard{Index: 2, Of: 2}, nil).Dir
	arriving := filepath.Join(t.TempDir(), "arriving")
	done := make(chan error, 1)
	go func() { done <- lab.AwaitParts(t.Context(), []string{first, arriving}, time.Minute) }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(10 * time.Millisecond): // whatever this is, the part is not there yet
	}
	require.NoError(t, os.Rename(second, arriving))
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it waits for a part that is there")
	}

	require.NoError(t, os.Remove(filepath.Join(arriving, "junit.xml")), "as if its histories were still being packed")
	require.NoError(t, lab.AwaitParts(t.Context(), []string{arriving}, time.Millisecond))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	assert.ErrorIs(t, lab.AwaitParts(ctx, []string{arriving}, time.Hour), stopped)
}
