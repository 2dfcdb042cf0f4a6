package server

import (
	"context"
	"errors"
	"net"
)

var (
	errNotDown = errors.New("it is not down")
	errDown    = errors.New("it is down")
)

// placeholder keeps the port of a server that is down, so that no other server gets it. It closes every connection at once. The nil
// placeholder is that of a server that is up.
type placeholder struct{ listener net.Listener }

func keepPlace(ctx context.Context, addr string) (*placeholder, error) {
	p := &placeholder{}
	err := onSamePort(ctx, func() (taken bool, err error) {
		p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", addr)
		return err != nil, err
	})
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := p.listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return p, nil
}

// leave gives the port up.
func (p *placeholder) leave() {
	if p != nil {
		_ = p.listener.Close()
	}
}
