package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/locklab/locklab/internal/faults/network"
)

// Servers listen below the ephemeral ports, so that a restarted server finds its port free.
const (
	portFirst = 10000
	PortCount = 10000
	portTries = 50
)

// OnFreePort calls start with random ports until one is not taken.
func OnFreePort(start func(port int) (taken bool, err error)) error {
	var failed error
	for range portTries {
		port, release, err := ReservePort()
		if err != nil {
			return err
		}
		taken, err := start(port)
		release()
		if !taken {
			return err
		}
		failed = err
	}
	return fmt.Errorf("no port is free, the last of %d tried: %w", portTries, failed)
}

// Loopback is where the lab's servers listen.
var Loopback = net.IPv4(127, 0, 0, 1)

// ReservePort finds a port that nobody has, and that no server of a lab is given until it is released.
func ReservePort() (port int, release func(), err error) {
	for range portTries {
		port = portFirst + rand.IntN(PortCount)
		if release, err = network.Reserve(Loopback, port); err == nil {
			return port, release, nil
		}
	}
	return 0, nil, fmt.Errorf("no port is free, the last of %d tried: %w", portTries, err)
}

// OnSamePort calls start again while the port is taken: an outgoing connection may use it for a moment.
func OnSamePort(ctx context.Context, start func() (taken bool, err error)) error {
	for {
		taken, err := start()
		if !taken {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its port is taken: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
