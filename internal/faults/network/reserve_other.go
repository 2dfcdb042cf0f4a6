//go:build !linux

package network

import (
	"net"
	"strconv"
)

// Reserve only finds out whether somebody listens at the port: outside Linux a proxy or a server cannot listen on a port that is bound.
func Reserve(ip net.IP, port int) (release func(), err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return func() {}, listener.Close()
}
