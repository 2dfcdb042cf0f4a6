package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// StopMember kills the server at an address. It returns once the others have a leader, if they are enough for one.
func (e *Ensemble) StopMember(ctx context.Context, addr string) error {
	return e.change(ctx, addr, "stop a server of the ensemble", func(ctx context.Context, p *peer) error { return p.Stop(ctx) })
}

// StartMember starts a server again, with the data that it had. It returns once it follows, or leads.
func (e *Ensemble) StartMember(ctx context.Context, addr string) error {
	return e.change(ctx, addr, "start a server of the ensemble", func(ctx context.Context, p *peer) error {
		e.bypass = true
		return p.StartAgain(ctx)
	})
}

// EmptyMember kills a server and starts it again without its data. It returns once it follows.
func (e *Ensemble) EmptyMember(ctx context.Context, addr string) error {
	return e.change(ctx, addr, "empty a server of the ensemble", func(ctx context.Context, p *peer) error {
		e.bypass = true
		if err := p.Stop(ctx); err != nil {
			return err
		}
		if err := e.settle(ctx); err != nil { // or it would vote with those that have more
			return err
		}
		if err := os.RemoveAll(filepath.Join(p.Dir, "data", "version-2")); err != nil {
			return err
		}
		return p.StartAgain(ctx)
	})
}

// CutOff holds all that passes between a server and the others. It returns once the others have a leader: at once if the server follows, and
// after syncLimit and an election if it leads. By then that serves nobody.
func (e *Ensemble) CutOff(ctx context.Context, addr string) error {
	return e.change(ctx, addr, "cut a server of the ensemble off", func(ctx context.Context, p *peer) error {
		if e.bypass {
			return errors.New("a server of it has started again, and may have connections that no link carries")
		}
		leads := p.mode(ctx) == "leader"
		for _, link := range e.around(p) {
			cut, err := link.Inject(ctx, faults.LinkFault{Kind: faults.Partition})
			if err != nil {
				return err
			}
			p.cut = append(p.cut, cut)
		}
		for leads && p.mode(ctx) != "" {
			if err := daemon.Pause(ctx); err != nil {
				return fmt.Errorf("it still leads: %w", err)
			}
		}
		return nil
	})
}

// Rejoin ends that. It returns once all have the same leader.
func (e *Ensemble) Rejoin(ctx context.Context, addr string) error {
	return e.change(ctx, addr, "join a server of the ensemble to the others", func(ctx context.Context, p *peer) error {
		var errs []error
		for _, cut := range p.cut {
			_, err := cut.Recover(ctx)
			errs = append(errs, err)
		}
		p.cut = nil
		return errors.Join(errs...)
	})
}

// around are the links to and from a server.
func (e *Ensemble) around(p *peer) []*network.Link {
	var links []*network.Link
	for _, other := range e.peers {
		if other != p {
			links = append(links, p.to[other.id].quorum, p.to[other.id].voting, other.to[p.id].quorum, other.to[p.id].voting)
		}
	}
	return links
}
