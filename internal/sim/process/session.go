package process

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// Keeper is a Host that keeps sessions with a ZooKeeper for the locks of its process, as a client library does.
type Keeper interface {
	// Life is the number of the present session of a lock.
	Life(handle string) int
	// Lasts is how long it lasts at least.
	Lasts(handle string) time.Duration
}

// session is a lock's session with a ZooKeeper.
type session struct {
	process *Process
	keeper  Keeper
	handle  string
}

// sessionOf is the session of a lock that needs one; nil: it needs none, or there is no ZooKeeper.
func (p *Process) sessionOf(handle string, spec impls.Spec) impls.Session {
	keeper, ok := p.host.(Keeper)
	if !ok || spec.Needs != impls.OneZooKeeper {
		return nil
	}
	return session{process: p, keeper: keeper, handle: handle}
}

func (s session) Create(ctx context.Context, path string, sequential bool) (string, error) {
	words := []string{"CREATE", path, zookeeper.Ephemeral}
	if sequential {
		words = append(words, zookeeper.Sequential)
	}
	reply, err := s.ask(ctx, 0, words...)
	return reply.Text, err
}

func (s session) Children(ctx context.Context, path string) ([]string, error) {
	reply, err := s.ask(ctx, 0, "GETCHILDREN", path)
	var names []string
	for _, name := range reply.List {
		names = append(names, name.Text)
	}
	return names, err
}

// Watch numbers the watch, by which the host tells what becomes of it.
func (s session) Watch(ctx context.Context, path string) (bool, impls.Subscription, error) {
	s.process.watches++
	number := s.process.watches
	_, err := s.ask(ctx, number, "EXISTS", path, zookeeper.Watch)
	if err != nil && !errors.Is(err, impls.NoNode) {
		return false, nil, err
	}
	return err == nil, nodeWatch{session: s, number: number}, nil
}

func (s session) Delete(ctx context.Context, path string) error {
	_, err := s.ask(ctx, 0, "DELETE", path)
	return err
}

func (s session) Present() impls.Lifetime {
	return lifetime{session: s, number: s.keeper.Life(s.handle)}
}

func (s session) Valid() time.Duration { return s.keeper.Lasts(s.handle) }

// ask sends a request and reads its reply.
func (s session) ask(ctx context.Context, watch int, words ...string) (service.Reply, error) {
	in, err := s.process.await(ctx, Wait{Kind: Request, Handle: s.handle, Commands: [][]string{words}, Number: watch})
	switch {
	case err != nil:
		return service.Reply{}, err
	case in.Lost:
		return service.Reply{}, errLost
	}
	reply := in.Replies[0]
	if reply.Kind == service.Error {
		return reply, refusal(reply.Text)
	}
	return reply, nil
}

// refusal is the error of a request that was refused.
func refusal(code string) error {
	for _, known := range []impls.ServerError{impls.NoNode, impls.NodeExists} {
		if strings.HasPrefix(string(known), code+":") {
			return known
		}
	}
	return errors.New(code)
}

// nodeWatch is a watch on a node.
type nodeWatch struct {
	session session
	number  int
}

func (w nodeWatch) Receive(ctx context.Context) (string, error) {
	_, err := w.session.process.await(ctx, Wait{Kind: Message, Handle: w.session.handle, Number: w.number})
	return "", err
}

// Close does nothing: the watch ends with its first event.
func (w nodeWatch) Close() {}

// lifetime is one session.
type lifetime struct {
	session session
	number  int
}

func (l lifetime) Prolonged(ctx context.Context) error {
	in, err := l.session.process.await(ctx, Wait{Kind: Contact, Handle: l.session.handle, Number: l.number})
	if err == nil && in.Lost {
		return impls.ErrExpired
	}
	return err
}
