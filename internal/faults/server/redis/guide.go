package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// The Sentinels, and how many of them must agree that the primary is down. GroupName is what they call the primary and its replicas.
const (
	guideCount = 3
	quorum     = 2
	GroupName  = "locks"
)

// The time-outs of the Sentinels. They notice a primary only while the lab has them fail over: on a busy machine they would do it by
// themselves. The same goes for replicas that follow the primary by another address than its own, which Sentinels correct after a while.
const (
	downAfter = time.Second // of the first; the others take stagger longer each, so that they vote for it
	stagger   = 300 * time.Millisecond
	giveUp    = 3 * time.Second // after which a failover has failed, and half of the time until the next
	never     = 24 * time.Hour
)

// guide is a Sentinel.
type guide struct {
	*Server
	front *network.Link // to it, from other Sentinels
}

func (g *guide) close() error {
	err := g.Server.Close()
	if g.front != nil {
		err = errors.Join(err, g.front.Close())
	}
	return err
}

// addGuide starts a Sentinel that watches the primary.
func (s *Sentinel) addGuide(ctx context.Context) (err error) {
	g := &guide{}
	if g.Server, err = s.process(ctx, Options{Args: []string{"--sentinel"}, config: "sentinel.conf"}); err != nil {
		return err
	}
	s.guides = append(s.guides, g)
	if g.front, err = s.network.Link(ctx, "sentinel-"+portOf(g.Addr()), g.Addr(), nil); err != nil {
		return err
	}
	host, port := announced(g.front)
	primaryHost, primaryPort := announced(s.primary.front)
	for _, command := range [][]any{
		{"SENTINEL", "DEBUG", "info-period", 100, "ping-period", 500, "ask-period", 100, "publish-period", 100, "tilt-period", 1000},
		{"SENTINEL", "CONFIG", "SET", "announce-ip", host},
		{"SENTINEL", "CONFIG", "SET", "announce-port", port},
		{"SENTINEL", "MONITOR", GroupName, primaryHost, primaryPort, quorum},
	} {
		if err := g.do(ctx, command...); err != nil {
			return fmt.Errorf("a Sentinel of Redis %s; the lab needs one of version 7: %w", g.version, err)
		}
	}
	return g.watch(ctx, never, never)
}

// watch sets a Sentinel's time-outs.
func (g *guide) watch(ctx context.Context, down, failover time.Duration) error {
	return g.do(ctx, "SENTINEL", "SET", GroupName, "down-after-milliseconds", down.Milliseconds(), "failover-timeout", failover.Milliseconds())
}

// atGuides calls do for each Sentinel.
func (s *Sentinel) atGuides(do func(*guide) error) error {
	for _, g := range s.guides {
		if err := do(g); err != nil {
			return err
		}
	}
	return nil
}

// awaitSwitch has the Sentinels notice that the primary does not answer, and waits until each of them has switched to another one, which must
// be one that may take over.
func (s *Sentinel) awaitSwitch(ctx context.Context, may []*node) error {
	for i, g := range s.guides {
		if err := g.watch(ctx, downAfter+time.Duration(i)*stagger, giveUp); err != nil {
			return err
		}
	}
	before, next := s.primary.front.Addr(), ""
	for waiting := slices.Clone(s.guides); len(waiting) > 0; {
		var err error
		waiting = slices.DeleteFunc(waiting, func(g *guide) bool {
			master, askErr := g.master(ctx)
			if askErr != nil || named(master) == before {
				err = errors.Join(err, askErr)
				return false
			}
			next = named(master)
			err = errors.Join(err, g.watch(ctx, never, never)) // before it takes the next primary for down
			return true
		})
		if err != nil {
			return err
		}
		if err := daemon.Pause(ctx); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(may, func(n *node) bool { return n.front.Addr() == next })
	if i < 0 {
		return fmt.Errorf("%w: %s", server.ErrChoice, next)
	}
	s.primary, s.strict = may[i], false
	return s.primary.unlink()
}

// master is what a Sentinel says of the primary. While it fails over it tells clients the next one already.
func (g *guide) master(ctx context.Context) (about map[string]string, err error) {
	err = patiently(ctx, g.Addr(), func(client redisclient.Client) error {
		reply, err := client.Do(ctx, "SENTINEL", "MASTER", GroupName).Result()
		about = fields(reply)
		return err
	})
	return about, err
}

// named is the address of a process as a Sentinel tells it.
func named(about map[string]string) string { return net.JoinHostPort(about["ip"], about["port"]) }

// settle waits after a failover until the Sentinels have made replicas of all nodes that can be reached, and has them follow the primary by
// links of their own again.
func (s *Sentinel) settle(ctx context.Context) error {
	for _, n := range s.followers() {
		for {
			about, err := replication(ctx, n.Addr()) // what a Sentinel makes a replica breaks its connections
			if err == nil && about["role"] == "slave" {
				break
			}
			if ended := daemon.Pause(ctx); ended != nil {
				return errors.Join(ended, err)
			}
		}
	}
	if err := s.route(ctx); err != nil {
		return err
	}
	if err := s.caughtUp(ctx, len(s.followers())); err != nil {
		return err
	}
	return s.awaitCalm(ctx)
}

// awaitCalm waits until each Sentinel knows the primary, the replicas and the other Sentinels, and takes none for down.
func (s *Sentinel) awaitCalm(ctx context.Context) error {
	return s.atGuides(func(g *guide) error {
		for {
			why, err := g.lacks(ctx, s.primary.front.Addr(), len(s.followers()))
			if err != nil || why == "" {
				return err
			}
			if err := daemon.Pause(ctx); err != nil {
				return fmt.Errorf("a Sentinel does not know all others: %s: %w", why, err)
			}
		}
	})
}

// lacks says what a Sentinel does not know yet, or "".
func (g *guide) lacks(ctx context.Context, primary string, replicas int) (why string, err error) {
	master, err := g.master(ctx)
	if err != nil {
		return "", err
	}
	following := 0
	err = patiently(ctx, g.Addr(), func(client redisclient.Client) error {
		all, err := client.Do(ctx, "SENTINEL", "REPLICAS", GroupName).Slice()
		for _, one := range all {
			if about := fields(one); about["flags"] == "slave" && about["master-link-status"] == "ok" {
				following++
			}
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case named(master) != primary:
		return "it names another primary, " + named(master), nil
	case master["flags"] != "master":
		return "for it the primary is " + master["flags"], nil
	case master["num-other-sentinels"] != strconv.Itoa(guideCount-1):
		return "it knows " + master["num-other-sentinels"] + " others", nil
	case following < replicas:
		return fmt.Sprintf("it knows %d replicas that follow", following), nil
	}
	return "", nil
}

// fields are the names and values that a Sentinel lists alternately.
func fields(reply any) map[string]string {
	list, _ := reply.([]any)
	found := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		found[fmt.Sprint(list[i])] = fmt.Sprint(list[i+1])
	}
	return found
}
