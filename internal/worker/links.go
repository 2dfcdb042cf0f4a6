package worker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// links are a lock's connections: the client's, or the lock's own if open names servers. By the latter the lab attributes commands to the
// locks of a process.
type links struct {
	servers  []server // one at least, unless there is a session
	resource server   // nil if none was named
	own      []server
	keeper   *keeper // the session with a ZooKeeper; nil: the lock servers are Redis
	service  string  // the address of a service of another kind, to which the lock connects by itself; empty: none
}

// linksOf returns a lock's connections. It makes those of the lock's own at once, so that no operation has to.
func (s *session) linksOf(req protocol.Request, spec impls.Spec) (links, error) {
	if isKeeper(s.init.Servers[0]) {
		return s.keeperOf(req)
	}
	if isService(s.init.Servers[0]) {
		return s.serviceOf(req)
	}
	if len(req.Servers) == 0 {
		servers, err := s.serversOf(spec)
		return links{servers: servers, resource: s.resource}, err
	}
	l := links{resource: s.resource}
	if spec.Resends {
		l.servers = []server{newResendingServer(req.Servers[0], s.init.DB)}
	} else {
		for _, addr := range req.Servers {
			l.servers = append(l.servers, s.dial(addr))
		}
	}
	l.own = slices.Clone(l.servers)
	if req.Resource != "" {
		l.resource = s.dial(req.Resource)
		l.own = append(l.own, l.resource)
	}
	for _, server := range l.own {
		if err := server.ping(s.ctx); err != nil {
			l.close()
			return links{}, fmt.Errorf("the servers of %s: %w", req.Handle, err)
		}
	}
	return l, nil
}

func (s *session) dial(addr string) server { return newServer(addr, s.init.DB, s.timeout) }

// forLock are the lock servers as the lock sees them.
func (l links) forLock() []impls.Server {
	all := make([]impls.Server, len(l.servers))
	for i, server := range l.servers {
		all[i] = server
	}
	return all
}

// isKeeper says whether an address is that of a ZooKeeper.
func isKeeper(addr string) bool { return strings.HasPrefix(addr, protocol.ZooKeeperScheme) }

// keeperAddrs are addresses of a ZooKeeper without what marks them as such.
func keeperAddrs(named []string) []string {
	addrs := make([]string, len(named))
	for i, addr := range named {
		addrs[i] = strings.TrimPrefix(addr, protocol.ZooKeeperScheme)
	}
	return addrs
}

// resourceOf connects to the resource. It also returns the addresses of the lock servers, to which its callers connect in their own way.
func (s *session) resourceOf(req protocol.Request) (l links, named []string, err error) {
	l.resource, named = s.resource, req.Servers
	if len(named) == 0 {
		named = s.init.Servers
	}
	if req.Resource != "" {
		l.resource = s.dial(req.Resource)
		l.own = []server{l.resource}
		if err := l.resource.ping(s.ctx); err != nil {
			l.close()
			return links{}, nil, fmt.Errorf("the resource of %s: %w", req.Handle, err)
		}
	}
	return l, named, nil
}

// keeperOf returns the connections of a lock on a ZooKeeper: each has a session of its own, with the lease of the lock for a time-out.
func (s *session) keeperOf(req protocol.Request) (links, error) {
	l, named, err := s.resourceOf(req)
	if err != nil {
		return links{}, err
	}
	if l.keeper, err = dialKeeper(s.ctx, keeperAddrs(named), protocol.Duration(req.LeaseMS)); err != nil {
		l.close()
		return links{}, fmt.Errorf("the ZooKeeper of %s: %w", req.Handle, err)
	}
	return l, nil
}

// isService says whether an address is that of a service to which locks connect by themselves.
func isService(addr string) bool { return serviceAddr(addr) != addr }

// serviceAddr is the address of such a service without its kind.
func serviceAddr(addr string) string {
	return strings.TrimPrefix(strings.TrimPrefix(addr, protocol.EtcdScheme), protocol.PostgresScheme)
}

// serviceOf returns the connections of a lock that connects to its service by itself: the resource's.
func (s *session) serviceOf(req protocol.Request) (links, error) {
	l, named, err := s.resourceOf(req)
	if err == nil {
		l.service = serviceAddr(named[0])
	}
	return l, err
}

// close ends the lock's own connections.
func (l links) close() {
	if l.keeper != nil {
		l.keeper.close()
	}
	for _, server := range l.own {
		_ = server.close() // there is no request to answer
	}
}
