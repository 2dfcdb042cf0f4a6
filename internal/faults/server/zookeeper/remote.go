package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/server/address"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// answerTime bounds how long a server that accepts connections may be silent.
const answerTime = 4 * time.Second

// Addr is the address in a text that begins with KeeperScheme.
func Addr(text string) (addr string, ok bool) {
	addr, ok = strings.CutPrefix(text, address.ZooKeeperScheme)
	return addr, ok && address.Check(addr) == nil
}

// Remote is a ZooKeeper that runs at an address. The lab neither starts nor ends it.
type Remote struct {
	addr              string
	version           string
	shortest, longest time.Duration
}

// At returns the ZooKeeper at the address, which must answer.
func At(ctx context.Context, addr string) (*Remote, error) {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	k := &Remote{addr: addr, version: "of unknown version"}
	for timeout, granted := range map[time.Duration]*time.Duration{time.Millisecond: &k.shortest, 24 * time.Hour: &k.longest} {
		session, err := firstSession(ctx, addr, timeout)
		if err != nil {
			return nil, fmt.Errorf("ZooKeeper at %s: %w", addr, err)
		}
		*granted = session.Timeout()
		if err := session.End(); err != nil {
			return nil, fmt.Errorf("ZooKeeper at %s: %w", addr, err)
		}
	}
	about, err := fourLetters(ctx, addr, "srvr")
	if found := regexp.MustCompile(`(?m)^Zookeeper version: ([\d.]+)`).FindStringSubmatch(about); err == nil && found != nil {
		k.version = found[1]
	}
	return k, nil
}

// firstSession opens a session, and says in words why there is none.
func firstSession(ctx context.Context, addr string, timeout time.Duration) (*jute.Client, error) {
	late := fmt.Errorf("it accepts connections, and does not answer like a ZooKeeper within %v", answerTime)
	bounded, cancel := context.WithTimeoutCause(ctx, answerTime, late)
	defer cancel()
	session, err := jute.Dial(bounded, addr, timeout)
	var refused *net.OpError
	switch {
	case err == nil, ctx.Err() != nil:
		return session, err
	case errors.As(err, &refused) && refused.Op == "dial":
		return nil, fmt.Errorf("unreachable: %w", err)
	case address.SpeaksRedis(ctx, addr):
		return nil, fmt.Errorf("it is a Redis; write %s%s", address.RedisScheme, addr)
	}
	return nil, err
}

// Addr is its address.
func (k *Remote) Addr() string { return k.addr }

// Describe says what it is, with its version.
func (k *Remote) Describe() string { return fmt.Sprintf("ZooKeeper %s at %s", k.version, k.addr) }

// Sessions are the shortest and the longest time-out that it gives a session.
func (k *Remote) Sessions() (shortest, longest time.Duration) { return k.shortest, k.longest }

// Close does nothing: the server is not the lab's.
func (k *Remote) Close() error { return nil }

// RemoveTree removes a node with the places of locks below it. It says whether the node was there.
func RemoveTree(ctx context.Context, addr, root string) (found bool, err error) {
	err = withSession(ctx, addr, "remove", func(c *jute.Client) error {
		places, err := c.Children(root)
		if err != nil {
			return fmt.Errorf("%s: %w", root, err)
		}
		for _, place := range places {
			if err := removeNode(c, path.Join(root, place)); err != nil {
				return err
			}
		}
		err = settled(c.Ask(jute.OpDelete, root))
		if found = err == nil; found || errors.Is(err, jute.CodeNoNode) {
			return nil
		}
		return fmt.Errorf("%s: %w", root, err)
	})
	return found, err
}
