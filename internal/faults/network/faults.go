package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/locklab/locklab/faults"
)

// streams are toxiproxy's names for the parts of a link's traffic.
func streams(d faults.Direction) []string {
	switch d {
	case faults.Requests:
		return []string{upstream}
	case faults.Replies:
		return []string{downstream}
	}
	return []string{upstream, downstream}
}

// effectOf returns the effect of a fault, or an error if no link can have that fault.
func effectOf(f faults.LinkFault) (effect, error) {
	switch {
	case f.Kind == faults.Partition:
		return partition{f.Direction}, nil
	case f.Kind == faults.Delay && f.Each > 0 && f.Each < forever:
		return delay{f.Each}, nil
	case f.Kind == faults.Delay:
		return nil, fmt.Errorf("a delay of %s is out of range", f.Each)
	case f.Kind == faults.Refuse:
		return refuse{}, nil
	case f.Kind == faults.ReplyLost:
		return loseReplies{}, nil
	}
	return nil, fmt.Errorf("%s is no fault of a link", f.Kind)
}

// partition holds bytes and delivers them after recovery, as TCP does by retransmission. New connections are accepted, and their bytes
// held. The close of a connection without held bytes passes.
type partition struct{ side faults.Direction }

func (p partition) String() string {
	return faults.LinkFault{Kind: faults.Partition, Direction: p.side}.String()
}

func (p partition) inject(ctx context.Context, i *Injected) (string, error) {
	for _, stream := range streams(p.side) {
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
	if p.side != faults.Replies {
		return p.String() + ": toxiproxy lists the toxic; recovery checks a PING sent after it", nil
	}
	if err := i.probe.awaitArrival(ctx, i.ping); err != nil {
		return "", err
	}
	return "replies held: a PING has arrived; recovery checks its reply", nil
}

func (p partition) heal(ctx context.Context, i *Injected) (string, error) {
	early := i.probe != nil && p.side != faults.Replies && i.ping.hasArrived()
	var cameBack error
	if i.probe != nil {
		cameBack = i.probe.unanswered()
	}
	for _, stream := range streams(p.side) {
		if err := i.link.unslow(ctx, stream); err != nil {
			return "", err
		}
	}
	switch {
	case i.probe == nil:
		return p.side.String() + " delivered" + noCanary, nil
	case early:
		return "", errors.New("the partition leaked: a PING sent after it arrived before recovery")
	case cameBack != nil:
		return "", fmt.Errorf("the partition leaked: %w", cameBack)
	}
	err := i.probe.awaitArrival(ctx, i.ping)
	if err == nil {
		err = i.probe.awaitReply(ctx, i.ping)
	}
	switch {
	case errors.Is(err, errEnded):
		return "the PING's connection broke, and a round trip on a new one succeeded", i.link.works(ctx)
	case err != nil:
		return "", err
	case p.side == faults.Replies:
		return "the reply to the PING arrived only after recovery", nil
	}
	return "the PING sent after the cut arrived only after recovery", nil
}

func (p partition) drop(ctx context.Context, l *Link) error {
	var errs []error
	for _, stream := range streams(p.side) {
		errs = append(errs, l.dropSlowed(ctx, stream))
	}
	return errors.Join(errs...)
}

// delay delays each chunk in each direction, rounded up to milliseconds.
type delay struct{ each time.Duration }

func (d delay) String() string { return faults.LinkFault{Kind: faults.Delay, Each: d.each}.String() }

func (d delay) inject(ctx context.Context, i *Injected) (string, error) {
	for _, stream := range streams(faults.Both) {
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
	for _, stream := range streams(faults.Both) {
		if err := i.link.unslow(ctx, stream); err != nil {
			return "", err
		}
	}
	if i.probe == nil {
		return "no delay" + noCanary, nil
	}
	took, err := i.probe.roundTrip(ctx)
	if errors.Is(err, errEnded) {
		return "no delay: a connection broke, and a round trip on a new one succeeded", i.link.works(ctx)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("no delay: a round trip took %s", took.Round(time.Microsecond)), nil
}

func (delay) drop(ctx context.Context, l *Link) error {
	return partition{faults.Both}.drop(ctx, l)
}

// refuse breaks the connections of the link and refuses new ones.
type refuse struct{}

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

// awaitRefusal waits until a new connection is refused: between its fork and its exec, a new process may still have the closed listener.
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
		return "", fmt.Errorf("the link did not refuse until recovery: %w", still)
	}
	if i.probe == nil {
		return "connections are accepted again" + noCanary, nil
	}
	return "a connection was refused until now, and a round trip on a new one succeeded", i.link.works(ctx)
}

// enable opens the proxy's port again, and tries again while another process has it.
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
			return fmt.Errorf("enable the proxy: its port is taken: %w", taken)
		default:
			return fmt.Errorf("enable the proxy: %w", err)
		}
		select {
		case <-ctx.Done(): // the next call returns the error
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (refuse) drop(context.Context, *Link) error { return nil }

// loseReplies lets requests through and drops their replies. Recovery breaks the connections that were open.
type loseReplies struct{}

const loseName = "lose-replies"

func (loseReplies) inject(ctx context.Context, i *Injected) (string, error) {
	if err := i.link.addToxic(ctx, "timeout", loseName, downstream, map[string]any{"timeout": 0}); err != nil {
		return "", err
	}
	// A gate before this toxic would hold a reply that comes after the toxic is removed, and toxiproxy would never remove the gate.
	if err := i.link.removeGates(ctx, downstream, 0); err != nil {
		return "", err
	}
	if i.probe == nil {
		return "replies dropped" + noCanary, nil
	}
	var err error
	if i.ping, err = i.probe.send(ctx); err != nil {
		return "", err
	}
	if err := i.probe.awaitArrival(ctx, i.ping); err != nil {
		return "", err
	}
	return "replies dropped: a PING has arrived; recovery checks its reply", nil
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
	return "the PING's connection ended without its reply, and a round trip on a new one succeeded", i.link.works(ctx)
}

func (loseReplies) drop(context.Context, *Link) error { return nil }
