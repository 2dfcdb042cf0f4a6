package network

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// reserve takes a port of this machine for a proxy and keeps it while the proxy does not listen: a port that is free for the time
// that connections are refused could go to the proxy of another lab, and then the client would talk to that one's server.
//
// The port is bound, but nobody listens. It is bound first without SO_REUSEADDR, which fails if anybody else has bound it, another
// reservation included; the option, set afterwards, lets the proxy listen all the same.
func reserve(ip net.IP, port int) (release func(), err error) {
	v4 := ip.To4()
	if v4 == nil {
		return func() {}, nil
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserving port %d: %w", port, err)
	}
	err = unix.Bind(socket, &unix.SockaddrInet4{Port: port, Addr: [4]byte(v4)})
	if err == nil {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserving port %d: %w", port, err), unix.Close(socket))
	}
	return func() { _ = unix.Close(socket) }, nil
}
