//go:build !linux

package network

import "net"

// reserve does nothing: outside Linux a proxy cannot listen on a port that is bound.
func reserve(net.IP, int) (release func(), err error) { return func() {}, nil }
