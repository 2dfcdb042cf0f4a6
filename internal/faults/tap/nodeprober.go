package tap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/faults/jute"
)

// nodeProber asks a ZooKeeper for the children of nodes, in a session of its own. Only the holder of the turn may use it.
type nodeProber struct {
	life   context.Context // when it ends the connection is closed
	addrs  func() []string // of the servers that serve: one, or those of an ensemble
	alone  bool            // there is only one
	at     string          // the one that is asked
	client *jute.Client    // nil: not connected
	unbind func() bool
}

// proberSession is the time-out of the prober's session, which sends no pings.
const proberSession = time.Hour

// check makes sure that a server answers at all.
func (p *nodeProber) check(ctx context.Context) error {
	errs := []error{errors.New("no server serves")}
	for _, addr := range p.addrs() {
		client, err := jute.Dial(ctx, addr, proberSession)
		if err == nil {
			p.client, p.at = client, addr
			p.unbind = context.AfterFunc(p.life, func() { client.Close() })
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// children are the names of the nodes below one; none if it is not there. An error with an old connection is tried once more with a new
// one.
func (p *nodeProber) children(key string) (names []string, err error) {
	if p.client != nil && !slices.Contains(p.addrs(), p.at) {
		p.leave()
	}
	for old := p.client != nil; ; old = false {
		if p.client == nil {
			if err := p.check(p.life); err != nil {
				return nil, err
			}
		}
		if err = p.catchUp(key); err == nil {
			names, err = p.client.Children(key)
		}
		if err == nil {
			return names, nil
		}
		p.leave()
		if !old || p.life.Err() != nil {
			return nil, err
		}
	}
}

// catchUp has a server of an ensemble take in what the others have acknowledged.
func (p *nodeProber) catchUp(key string) error {
	if p.alone {
		return nil
	}
	reply, err := p.client.Ask(jute.OpSync, key)
	if err == nil && reply.Code != jute.CodeOK {
		err = fmt.Errorf("sync: %w", reply.Code)
	}
	return err
}

// leave ends the connection.
func (p *nodeProber) leave() {
	p.unbind()
	p.client.Close()
	p.client = nil
}
