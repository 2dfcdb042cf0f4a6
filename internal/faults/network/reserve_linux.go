package network

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Reserve binds a port of this machine for a proxy or a server, also while that does not listen. Otherwise another lab's proxy could get the port
// while connections are refused, and the client would talk to that lab's server; or another server could have it before this one listens.
//
// The socket is bound without SO_REUSEADDR, so that bind fails if the port is bound already, by another reservation too. The option,
// set afterwards, lets the proxy or the server listen.
func Reserve(ip net.IP, port int) (release func(), err error) {
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
