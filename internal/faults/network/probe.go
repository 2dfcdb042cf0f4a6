package network

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"
)

// tokenPrefix begins the tokens of canaries. It is tap.CanaryPrefix.
const tokenPrefix = "lab-canary-"

// probe is a connection through a link on which canaries are sent. A nil probe does nothing.
type probe struct {
	conn    net.Conn
	canary  Canary
	replies chan string   // the lines that came back, headers left out
	ended   chan struct{} // closed when nothing more can come back
}

// errEnded: the far end has broken the probe's connection, as a restart of the server does.
var errEnded = errors.New("canary: the connection ended")

// ping is a PING on its way.
type ping struct {
	token   string
	sent    time.Time
	arrived <-chan struct{}
}

// newProbe opens a connection through the link and makes one round trip.
func newProbe(ctx context.Context, l *Link) (*probe, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.addr)
	if err != nil {
		return nil, fmt.Errorf("canary: %w", err)
	}
	// The buffer holds every reply that a probe can get, so that read never blocks on it.
	p := &probe{conn: conn, canary: l.canary, replies: make(chan string, 16), ended: make(chan struct{})}
	go p.read()
	if _, err := p.roundTrip(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// works opens a connection through the link, makes one round trip and closes it.
func (l *Link) works(ctx context.Context) error {
	p, err := newProbe(ctx, l)
	if err != nil {
		return err
	}
	p.close()
	return nil
}

func (p *probe) read() {
	defer close(p.ended)
	lines := bufio.NewScanner(p.conn)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		if strings.HasPrefix(line, "$") {
			continue
		}
		select {
		case p.replies <- line:
		default:
			return
		}
	}
}

func (p *probe) close() {
	if p == nil {
		return
	}
	_ = p.conn.Close()
	<-p.ended
}

// send sends a PING with a token of its own.
func (p *probe) send(ctx context.Context) (ping, error) {
	token := tokenPrefix + rand.Text()
	sent := ping{token: token, arrived: p.canary.Canary(token), sent: time.Now()}
	if deadline, ok := ctx.Deadline(); ok {
		_ = p.conn.SetWriteDeadline(deadline)
	}
	_, err := fmt.Fprintf(p.conn, "*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", len(token), token)
	switch {
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET):
		return ping{}, fmt.Errorf("%w before the PING was sent", errEnded)
	case err != nil:
		return ping{}, fmt.Errorf("canary: %w", err)
	}
	return sent, nil
}

func (p *probe) roundTrip(ctx context.Context) (time.Duration, error) {
	sent, err := p.send(ctx)
	if err != nil {
		return 0, err
	}
	if err := p.awaitArrival(ctx, sent); err != nil {
		return 0, err
	}
	if err := p.awaitReply(ctx, sent); err != nil {
		return 0, err
	}
	return time.Since(sent.sent), nil
}

func (p *probe) awaitArrival(ctx context.Context, sent ping) error {
	select {
	case <-sent.arrived:
		return nil
	case <-p.ended:
		return fmt.Errorf("%w before the PING arrived", errEnded)
	case <-ctx.Done():
		return fmt.Errorf("canary: the PING has not arrived: %w", context.Cause(ctx))
	}
}

func (p *probe) awaitReply(ctx context.Context, sent ping) error {
	select {
	case line := <-p.replies:
		return isReply(line, sent)
	case <-p.ended:
	case <-ctx.Done():
		return fmt.Errorf("canary: no reply to the PING: %w", context.Cause(ctx))
	}
	select {
	case line := <-p.replies:
		return isReply(line, sent)
	default:
		return fmt.Errorf("%w instead of a reply to the PING", errEnded)
	}
}

func isReply(line string, sent ping) error {
	if strings.TrimPrefix(line, "+") != sent.token {
		return fmt.Errorf("canary: the reply to the PING was %.80q", line)
	}
	return nil
}

// awaitEnd waits until the connection is broken. It is an error if a reply came instead.
func (p *probe) awaitEnd(ctx context.Context) error {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return fmt.Errorf("canary: the connection did not break: %w", context.Cause(ctx))
	}
	return p.unanswered()
}

// unanswered is an error if a reply has come back.
func (p *probe) unanswered() error {
	select {
	case line := <-p.replies:
		return fmt.Errorf("canary: a reply came through: %.80q", line)
	default:
		return nil
	}
}

func (s ping) hasArrived() bool {
	select {
	case <-s.arrived:
		return true
	default:
		return false
	}
}
