package sim

import (
	"io"
	"net"

	"github.com/locklab/locklab/internal/scenarios/sim/netconn"
	"github.com/locklab/locklab/internal/sim/service"
)

// stream is a connection of a library in a bubble, as a net.Conn.
type stream struct {
	end
	*netconn.Conn
}

func newStream(of end) *stream {
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 1, 1), Port: 40000 + of.number}
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(of.link.number+1)), Port: 6379}
	return &stream{of, netconn.New(local, remote, of.guest.act)}
}

func (s *stream) answered(replies []service.Reply) { s.guest.hand(func() { s.Answer(replies) }) }
func (s *stream) receive(m service.Message)        { s.guest.hand(func() { s.Tell(m) }) }
func (s *stream) broke()                           { s.guest.hand(func() { s.Fail(io.EOF) }) }
