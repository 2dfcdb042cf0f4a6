package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
)

// Canary is the far end of a link, which reports the arrival of a PING.
type Canary interface {
	// Canary returns a channel that is closed when PING with this token arrives.
	Canary(token string) <-chan struct{}
}

// Link is one proxy, between one client and one server. It has one fault at a time. It is safe for concurrent use.
type Link struct {
	network *Network
	proxy   *toxiproxy.Proxy
	name    string
	addr    string
	canary  Canary
	release func()        // frees the reserved port; nil: none is reserved
	turn    chan struct{} // held during a call of the API: toxiproxy's client is not safe for concurrent use

	mu       sync.Mutex // held while a fault is injected or ended
	unusable error      // why no fault can be injected any more
	closed   bool
	injected *Injected
	gates    map[string][]string // by stream, the oldest first
	gated    int                 // how many gates there have been
}

// portTries bounds the ports that are tried for one link.
const portTries = 50

// Link opens a link to the upstream address, which toxiproxy must be able to reach. The name must be unique within the run and
// made of letters, digits, dots, dashes and underscores. The canary is behind the upstream address. Without one, the evidence of a fault
// comes from toxiproxy's API and the near end of the link only, and says so.
func (n *Network) Link(ctx context.Context, name, upstream string, canary Canary) (*Link, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(name) {
		return nil, fmt.Errorf("link %q: a name is made of letters, digits, dots, dashes and underscores", name)
	}
	l := &Link{
		network: n,
		proxy:   n.client.NewProxy(),
		name:    name,
		canary:  canary,
		turn:    make(chan struct{}, 1),
		gates:   make(map[string][]string),
	}
	l.proxy.Name, l.proxy.Upstream, l.proxy.Enabled = n.run+name, upstream, true
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil, fmt.Errorf("link %s: the network is closed", name)
	}
	n.links[l] = struct{}{}
	n.mu.Unlock()

	if err := l.create(ctx, n.listen); err != nil {
		return nil, errors.Join(fmt.Errorf("link %s to %s: %w", name, upstream, err), l.Close())
	}
	_, port, err := net.SplitHostPort(l.proxy.Listen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("link %s: toxiproxy listens on %q: %w", name, l.proxy.Listen, err), l.Close())
	}
	l.addr = net.JoinHostPort(n.host, port)
	return l, nil
}

// create creates the proxy on the first free port.
func (l *Link) create(ctx context.Context, host string) error {
	var err error
	for range portTries {
		if err = l.createAt(ctx, host, l.network.ports.take()); err == nil || !portTaken(err) {
			return err
		}
		l.network.ports.elsewhere()
	}
	return fmt.Errorf("no port is free, the last of %d tried: %w", portTries, err)
}

// createAt creates the proxy on a port. A port of this machine is reserved first.
func (l *Link) createAt(ctx context.Context, host string, port int) error {
	if loopback(host) {
		release, err := Reserve(net.ParseIP(host), port)
		if err != nil {
			return err
		}
		l.release = release
	}
	l.proxy.Listen = net.JoinHostPort(host, strconv.Itoa(port))
	err := l.call(ctx, l.proxy.Save)
	if err != nil {
		l.giveBack()
	}
	return err
}

// giveBack ends the reservation of the port.
func (l *Link) giveBack() {
	if l.release != nil {
		l.release()
		l.release = nil
	}
}

func portTaken(err error) bool { return strings.Contains(err.Error(), "address already in use") }

// Addr is the host:port that the client connects to.
func (l *Link) Addr() string { return l.addr }

// Close ends the link and drops what a fault still holds. Later calls do nothing.
func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed, l.unusable = true, errors.New("it is closed")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	if i := l.injected; i != nil {
		l.injected = nil
		errs = append(errs, i.effect.drop(ctx, l))
		i.probe.close()
	}
	if err := l.call(ctx, l.proxy.Delete); err != nil && !notFound(err) {
		errs = append(errs, err)
	}
	l.giveBack()
	l.network.mu.Lock()
	delete(l.network.links, l)
	l.network.mu.Unlock()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close link %s: %w", l.name, err)
	}
	return nil
}

func notFound(err error) bool {
	var answer *toxiproxy.ApiError
	return errors.As(err, &answer) && answer.Message == "proxy not found"
}

// call makes one call of the API, which takes no context. A call that ctx cuts short goes on in the background; Network.Close waits for it.
func (l *Link) call(ctx context.Context, api func() error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("toxiproxy is still busy: %w", context.Cause(ctx))
	}
	done := make(chan error, 1)
	l.network.calls.Go(func() {
		defer func() { <-l.turn }()
		done <- api()
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("toxiproxy does not answer: %w", context.Cause(ctx))
	}
}
