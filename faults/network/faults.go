package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Side is the part of a link's traffic that a partition holds.
type Side uint8

// The sides.
const (
	Both Side = iota
	Requests
	Replies
)

func (s Side) String() string {
	switch s {
	case Requests:
		return "requests"
	case Replies:
		return "replies"
	}
	return "requests and replies"
}

func (s Side) streams() []string {
	switch s {
	case Requests:
		return []string{upstream}
	case Replies:
		return []string{downstream}
	}
	return []string{upstream, downstream}
}

type partition struct{ side Side }

// Partition cuts the link: bytes are held, and delivered after recovery, as TCP would by sending them again. New connections
// are accepted, and held up alike. A client that closes a connection on which nothing is held is seen to do so.
func Partition(side Side) Fault { return partition{side} }

func (partition) Name() string            { return "partition" }
func (partition) BreaksConnections() bool { return false }
func (p partition) String() string        { return p.side.String() + " held" }

func (p partition) inject(ctx context.Context, i *Injected) (string, error) {
	for _, stream := range p.side.streams() {
		if err := i.link.slow(ctx, stream, forever); err != nil {
			return "", err
		}
	}
	if i.probe == nil {
		return p.String() + noCanary, nil
	}
	var err error
	if i.ping, err = i.probe.send(ctx); err != nil {
		return "", err
	}
	if p.side != Replies {
		return p.String() + ": toxiproxy lists the toxic; a PING sent after it is on the way, to be looked for at recovery", nil
	}
	if err := i.probe.awaitArrival(ctx, i.ping); err != nil {
		return "", err
	}
	return "replies held: a PING has arrived whose reply is to be looked for at recovery", nil
}

func (p partition) heal(ctx context.Context, i *Injected) (string, error) {
	early := i.probe != nil && p.side != Replies && i.ping.hasArrived()
	var cameBack error
	if i.probe != nil {
		cameBack = i.probe.unanswered()
	}
	for _, stream := range p.side.streams() {
		if err := i.link.unslow(ctx, stream); err != nil {
			return "", err
		}
	}
	switch {
	case i.probe == nil:
		return p.side.String() + " delivered" + noCanary, nil
	case early:
		return "", errors.New("the partition did not hold: a PING sent after it arrived before recovery")
	case cameBack != nil:
		return "", fmt.Errorf("the partition did not hold: %w", cameBack)
	}
	if err := i.probe.awaitArrival(ctx, i.ping); err != nil {
		return "", err
	}
	if err := i.probe.awaitReply(ctx, i.ping); err != nil {
		return "", err
	}
	if p.side == Replies {
		return "the reply to the PING had not come back until now, and came after recovery", nil
	}
	return "the PING sent after the cut had not arrived until now, and arrived after recovery", nil
}

func (p partition) drop(ctx context.Context, l *Link) error {
	var errs []error
	for _, stream := range p.side.streams() {
		errs = append(errs, l.dropSlowed(ctx, stream))
	}
	return errors.Join(errs...)
}

type delay struct{ each time.Duration }

// Delay delays each chunk by d in each direction, rounded up to milliseconds.
func Delay(d time.Duration) Fault { return delay{d} }

func (delay) Name() string            { return "delay" }
func (delay) BreaksConnections() bool { return false }
func (d delay) String() string        { return d.each.String() + " each way" }

func (d delay) inject(ctx context.Context, i *Injected) (string, error) {
	if d.each <= 0 || d.each >= forever {
		return "", fmt.Errorf("a delay of %s makes no sense", d.each)
	}
	for _, stream := range Both.streams() {
		if err := i.link.slow(ctx, stream, d.each); err != nil {
			return "", err
		}
	}
	if i.probe == nil {
		return d.String() + noCanary, nil
	}
	took, err := i.probe.roundTrip(ctx)
	if err != nil {
		return "", err
	}
	if took < 2*d.each {
		return "", fmt.Errorf("a round trip took %s, which is less than twice %s", took, d.each)
	}
	return fmt.Sprintf("%s: a round trip took %s", d, took.Round(time.Microsecond)), nil
}

func (d delay) heal(ctx context.Context, i *Injected) (string, error) {
	for _, stream := range Both.streams() {
		if err := i.link.unslow(ctx, stream); err != nil {
			return "", err
		}
	}
	if i.probe == nil {
		return "no delay" + noCanary, nil
	}
	took, err := i.probe.roundTrip(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("no delay: a round trip took %s", took.Round(time.Microsecond)), nil
}

func (delay) drop(ctx context.Context, l *Link) error {
	return partition{Both}.drop(ctx, l)
}

type refuse struct{}

// Refuse breaks the connections of the link and refuses new ones.
func Refuse() Fault { return refuse{} }

func (refuse) Name() string            { return "refuse" }
func (refuse) BreaksConnections() bool { return true }
func (refuse) String() string          { return "connections broken and refused" }

func (r refuse) inject(ctx context.Context, i *Injected) (string, error) {
	if err := i.link.call(ctx, i.link.proxy.Disable); err != nil {
		return "", fmt.Errorf("disable the proxy: %w", err)
	}
	if err := i.link.awaitRefusal(ctx); err != nil {
		return "", err
	}
	if i.probe == nil {
		return "a new connection is refused; open ones are broken" + noCanary, nil
	}
	if err := i.probe.awaitEnd(ctx); err != nil {
		return "", err
	}
	return "an open connection was broken, and a new one is refused", nil
}

// awaitRefusal waits until a new connection is refused: a process that is being started may have the closed listener for a moment
// longer, between its fork and its exec.
func (l *Link) awaitRefusal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := l.refuses(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// refuses is an error if a connection to the link is not refused.
func (l *Link) refuses(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.addr)
	if err == nil {
		_ = conn.Close()
		return errors.New("a new connection was not refused")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("a new connection failed, but was not refused: %w", err)
	}
	return nil
}

func (r refuse) heal(ctx context.Context, i *Injected) (string, error) {
	still := i.link.refuses(ctx)
	if err := i.link.enable(ctx); err != nil {
		return "", err
	}
	if still != nil {
		return "", fmt.Errorf("the link did not stay closed: %w", still)
	}
	if i.probe == nil {
		return "connections are accepted again" + noCanary, nil
	}
	fresh, err := newProbe(ctx, i.link)
	if err != nil {
		return "", err
	}
	fresh.close()
	return "a connection was refused until now, and a round trip on a new one succeeded", nil
}

// enable opens the proxy's port again. Somebody may have it for a moment: then it is tried again.
func (l *Link) enable(ctx context.Context) error {
	var taken error
	for {
		err := l.call(ctx, l.proxy.Enable)
		switch {
		case err == nil:
			return nil
		case portTaken(err):
			taken = err
		case taken != nil && ctx.Err() != nil:
			return fmt.Errorf("enable the proxy: somebody has taken its port: %w", taken)
		default:
			return fmt.Errorf("enable the proxy: %w", err)
		}
		select {
		case <-ctx.Done(): // the next call says so
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (refuse) drop(context.Context, *Link) error { return nil }

type loseReplies struct{}

// LoseReplies lets requests through and drops their replies. Recovery breaks the connections that were open: a reply that was
// lost never comes.
func LoseReplies() Fault { return loseReplies{} }

func (loseReplies) Name() string            { return "reply-lost" }
func (loseReplies) BreaksConnections() bool { return true }
func (loseReplies) String() string          { return "replies dropped" }

const loseName = "lose-replies"

func (f loseReplies) inject(ctx context.Context, i *Injected) (string, error) {
	if err := i.link.addToxic(ctx, "timeout", loseName, downstream, map[string]any{"timeout": 0}); err != nil {
		return "", err
	}
	if i.probe == nil {
		return f.String() + noCanary, nil
	}
	var err error
	if i.ping, err = i.probe.send(ctx); err != nil {
		return "", err
	}
	if err := i.probe.awaitArrival(ctx, i.ping); err != nil {
		return "", err
	}
	return "replies dropped: a PING has arrived whose reply is to be looked for at recovery", nil
}

func (loseReplies) heal(ctx context.Context, i *Injected) (string, error) {
	if err := i.link.removeToxic(ctx, loseName); err != nil {
		return "", err
	}
	if i.probe == nil {
		return "connections broken, replies come again" + noCanary, nil
	}
	if err := i.probe.awaitEnd(ctx); err != nil {
		return "", err
	}
	fresh, err := newProbe(ctx, i.link)
	if err != nil {
		return "", err
	}
	fresh.close()
	return "the PING's connection ended without its reply, and a round trip on a new one succeeded", nil
}

func (loseReplies) drop(context.Context, *Link) error { return nil }
