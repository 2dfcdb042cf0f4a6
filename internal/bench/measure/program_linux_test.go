package measure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/faults/server/servertest"
)

// TestProgramsThatDoNotAnswer: a program that says nothing is asked no longer than the context lasts. It and what it has left behind, which keeps
// its output open, end with the question.
func TestProgramsThatDoNotAnswer(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	started := func(fifo string) <-chan struct{} { // and closed once its process has ended
		opened := make(chan struct{})
		require.NoError(t, syscall.Mkfifo(fifo, 0o600))
		go func() {
			defer close(opened)
			file, err := os.Open(fifo) // waits for a writer
			if !assert.NoError(t, err) {
				return
			}
			opened <- struct{}{}
			_, err = io.Copy(io.Discard, file)
			assert.NoError(t, errors.Join(err, file.Close()))
		}()
		return opened
	}
	one, other := started(first), started(second)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	asked := make(chan error, 1)
	go func() {
		_, err := measure.ProgramLocks(ctx, servertest.As("guard"), fmt.Sprintf("setsid sleep 86400 3>'%s' & exec sleep 86400 3>'%s' #", first, second))
		asked <- err
	}()
	<-one
	<-other
	cancel(errEnough)
	require.ErrorIs(t, <-asked, errEnough)
	<-one
	<-other
}
