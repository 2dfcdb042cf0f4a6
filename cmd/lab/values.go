package main

import (
	"errors"
	"net"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/impls/waiting"
	"github.com/locklab/locklab/scenarios/live"
)

// checkValues finds what is wrong with the values of flags by themselves.
func (f *runFlags) checkValues() error {
	switch {
	case f.parallel < 1:
		return usagef("--parallel must be at least 1, not %d", f.parallel)
	case f.count < 1:
		return usagef("--count must be at least 1, not %d", f.count)
	case f.timeout <= 0:
		return usagef("--timeout must be more than zero, not %v", f.timeout)
	}
	if err := waiting.Check(f.wait); err != nil {
		return usagef("--wait: %v", err)
	}
	for _, check := range []func() error{f.checkServer, f.checkToxiproxy, f.checkListen} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (f *runFlags) checkServer() error {
	names := []string{live.Embedded, live.RedisServer}
	if f.server == names[0] || f.server == names[1] || server.CheckAddr(f.server) == nil {
		return nil
	}
	return unknown("server", f.server, names, "--server takes "+enumerate(append(names, "an address like 127.0.0.1:6379"), "or"))
}

func (f *runFlags) checkToxiproxy() error {
	if f.toxiproxy == "" {
		return nil
	}
	if err := network.CheckURL(f.toxiproxy); err != nil {
		return usagef("--toxiproxy: %v", err)
	}
	return nil
}

// checkListen listens for a moment where the taps of the cells are going to.
func (f *runFlags) checkListen() error {
	if f.listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.listen); err == nil {
		return usagef("--listen takes a host without a port, not %q; the lab chooses free ports", f.listen)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(f.listen, "0"))
	if err != nil {
		return usagef("--listen: the lab cannot listen at %q: %v", f.listen, netCause(err))
	}
	return listener.Close()
}

// netCause takes the operation and the address off an error of the network.
func netCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
