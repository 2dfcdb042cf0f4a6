package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/network"
)

func TestTriesOfPorts(t *testing.T) {
	tries := 0
	err := OnFreePort(func(int) (bool, error) { tries++; return true, errors.New("in use") })
	require.EqualError(t, err, fmt.Sprintf("no port is free, the last of %d tried: in use", portTries))
	require.Equal(t, portTries, tries)
	err = OnSamePort(t.Context(), func() (bool, error) { tries--; return tries > 0, errors.New("other") })
	require.EqualError(t, err, "other")
	require.Zero(t, tries)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = OnSamePort(ctx, func() (bool, error) { return true, errors.New("in use") })
	require.EqualError(t, err, "its port is taken: in use")
}

func TestPortsLieBelowTheEphemeralOnes(t *testing.T) {
	for range 100 {
		require.NoError(t, OnFreePort(func(port int) (bool, error) {
			require.True(t, port >= 10_000 && port < 20_000, strconv.Itoa(port))
			return false, nil
		}))
	}
}

// A port at which a server will listen later is nobody else's, nor one at which a server is being started.
func TestAReservedPortIsNotGivenAway(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no port can be reserved here")
	}
	reserved := func(port int) bool {
		release, err := network.Reserve(Loopback, port)
		if err == nil {
			release()
		}
		return errors.Is(err, syscall.EADDRINUSE)
	}
	port, release, err := ReservePort()
	require.NoError(t, err)
	assert.True(t, reserved(port))
	listener, err := net.Listen("tcp", net.JoinHostPort(Loopback.String(), strconv.Itoa(port))) // the server itself can
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	release()
	assert.False(t, reserved(port))

	var started int
	require.NoError(t, OnFreePort(func(port int) (bool, error) {
		started = port
		assert.True(t, reserved(port))
		return false, nil
	}))
	assert.False(t, reserved(started))
}
