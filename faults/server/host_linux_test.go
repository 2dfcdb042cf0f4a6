package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/racing"
)

// TestMemoryOfAHostIsBounded: a script that asks for gigabytes ends its own host.
func TestMemoryOfAHostIsBounded(t *testing.T) {
	s := startHosted(t, 512<<20)
	const script = "return #string.rep('x', 4300000000)"
	_, err := dial(t, s).Write([]byte("*3\r\n$4\r\nEVAL\r\n$35\r\n" + script + "\r\n$1\r\n0\r\n"))
	require.NoError(t, err)
	select {
	case <-s.Died():
	case <-time.After(20 * time.Second):
		t.Fatal("the host goes on")
	}
	says := "out of memory"
	if racing.Enabled {
		says = "failed to allocate" // the race detector is asked first
	}
	require.Contains(t, s.End(), says)
}
