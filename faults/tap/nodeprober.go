package tap

import (
	"context"
	"time"

	"github.com/locklab/locklab/faults/jute"
)

// nodeProber asks a ZooKeeper for the children of nodes, in a session of its own. Only the holder of the turn may use it.
type nodeProber struct {
	life   context.Context // when it ends the connection is closed
	addr   string
	client *jute.Client // nil: not connected
	unbind func() bool
}

// proberSession is the time-out of the prober's session, which sends no pings.
const proberSession = time.Hour

// check makes sure that the server answers at all.
func (p *nodeProber) check(ctx context.Context) error {
	client, err := jute.Dial(ctx, p.addr, proberSession)
	if err != nil {
		return err
	}
	p.client = client
	p.unbind = context.AfterFunc(p.life, func() { client.Close() })
	return nil
}

// children are the names of the nodes below one; none if it is not there. An error with an old connection is tried once more with a new
// one.
func (p *nodeProber) children(key string) (names []string, err error) {
	for old := p.client != nil; ; old = false {
		if p.client == nil {
			if err := p.check(p.life); err != nil {
				return nil, err
			}
		}
		if names, err = p.client.Children(key); err == nil {
			return names, nil
		}
		p.unbind()
		p.client.Close()
		p.client = nil
		if !old || p.life.Err() != nil {
			return nil, err
		}
	}
}
