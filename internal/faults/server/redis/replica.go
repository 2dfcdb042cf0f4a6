package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// replica is one with its link to the primary.
type replica struct {
	*Server
	link *network.Link
	held *network.Injected // what holds the link; nil: nothing does
}

// letGo ends the hold of the link, if there is one.
func (r *replica) letGo(ctx context.Context) error {
	held := r.held
	if held == nil {
		return nil
	}
	r.held = nil
	_, err := held.Recover(ctx)
	return err
}

// hold holds the link, which may be held already.
func (r *replica) hold(ctx context.Context) (err error) {
	if r.held == nil {
		r.held, err = r.link.Inject(ctx, faults.LinkFault{Kind: faults.Partition})
	}
	return err
}

// close ends the process and its link, with what that holds.
func (r *replica) close() error {
	var errs []error
	if r.Server != nil {
		errs = append(errs, r.Server.Close())
	}
	if r.link != nil {
		errs = append(errs, r.link.Close())
	}
	return errors.Join(errs...)
}

// do has the process carry out one command.
func (r *Server) do(ctx context.Context, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	err := patiently(ctx, r.Addr(), func(client redisclient.Client) error { return client.Do(ctx, args...).Err() })
	if err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	return nil
}

// listenAt has the process listen at another port of this host, unless that is taken.
func (r *Server) listenAt(ctx context.Context, port int) (taken bool, err error) {
	err = r.do(ctx, "CONFIG", "SET", "port", port)
	return err != nil && strings.Contains(err.Error(), "Unable to listen"), err
}

// move has the process listen at another address of this host.
func (r *Server) move(ctx context.Context, addr string) error {
	port, err := strconv.Atoi(portOf(addr))
	if err != nil {
		return err
	}
	if err := daemon.OnSamePort(ctx, func() (taken bool, err error) { return r.listenAt(ctx, port) }); err != nil {
		return fmt.Errorf("take over the address of the primary, which Redis can since version 7: %w", err)
	}
	return r.Relocate(ctx, addr)
}
