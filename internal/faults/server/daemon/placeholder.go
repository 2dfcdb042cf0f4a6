package daemon

import (
	"context"
	"errors"
	"net"
)

var (
	ErrNotDown = errors.New("it is not down")
	ErrDown    = errors.New("it is down")
)

// Placeholder keeps the port of a server that is down, so that no other server gets it. It closes every connection at once. The nil
// placeholder is that of a server that is up.
type Placeholder struct{ listener net.Listener }

func KeepPlace(ctx context.Context, addr string) (*Placeholder, error) {
	p := &Placeholder{}
	err := OnSamePort(ctx, func() (taken bool, err error) {
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

// Leave gives the port up.
func (p *Placeholder) Leave() {
	if p != nil {
		_ = p.listener.Close()
	}
}
