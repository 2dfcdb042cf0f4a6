//go:build !linux

package network

import "net"

// Reserve does nothing: outside Linux a proxy cannot listen on a port that is bound.
func Reserve(net.IP, int) (release func(), err error) { return func() {}, nil }
