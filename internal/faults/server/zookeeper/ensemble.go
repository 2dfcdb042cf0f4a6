package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Ensemble is a ZooKeeper of three servers, all processes of the lab, which elect a leader. Each reaches each of the others by links of its own, so
// that a server can be cut off from the others while its clients reach it. Its methods may be called by several goroutines at once.
type Ensemble struct {
	guard   *process.Guard
	network *network.Network
	found   installation
	dir     string
	log     string
	*daemon.Fate

	mu     sync.Mutex
	peers  []*peer
	bypass bool // servers may have connections that no link carries
	closed bool
}

// peer is a server of an ensemble.
type peer struct {
	*daemon.Daemon
	id     int
	quorum string // where it listens for followers while it leads, which may be seconds after its start
	voting string // where it listens for votes
	calls  *relay // before quorum; nil: not started
	// reserved end the reservations of quorum and voting.
	reserved []func()
	known    bool // its port is its own: before, another process may answer there
	// to are the links to each other server, by its id.
	to  map[int]*peerLinks
	cut []*network.Injected // what holds the links to and from it; empty: nothing does
}

// peerLinks lead from one server of an ensemble to another.
type peerLinks struct{ quorum, voting *network.Link }

// ensembleSize is the number of servers.
const ensembleSize = 3

// Bounds of an ensemble, in ticks: on a busy machine a follower that is only late must not be taken for one that is cut off. A server that
// is cut off answers its clients for syncLimit.
const (
	initLimit = 50
	syncLimit = 80
)

// StartEnsemble starts the servers, with links through the network, and returns once they have elected a leader and all serve clients. It
// appends their logs to the file at the path; empty: to ones that end with them. The context bounds the start only.
func StartEnsemble(ctx context.Context, guard *process.Guard, links *network.Network, log string) (*Ensemble, error) {
	found, err := find(jarDir)
	if err != nil {
		return nil, err
	}
	dir, err := guard.TempDir("locklab-ensemble-")
	if err != nil {
		return nil, fmt.Errorf("start an ensemble: %w", err)
	}
	e := &Ensemble{guard: guard, network: links, found: found, dir: dir, log: log, Fate: daemon.NewFate()}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start an ensemble: %w", err), e.Close())
	}
	return e, nil
}

func (e *Ensemble) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.StartTime)
	defer cancel()
	for id := 1; id <= ensembleSize; id++ {
		p, err := e.newPeer(id)
		e.peers = append(e.peers, p)
		if err != nil {
			return err
		}
	}
	// A server that is called by one with a smaller id hangs up and calls back, at the address that the other says is its own: no link would carry
	// that. So the smaller ones cannot call before all are connected.
	var mute []*network.Injected
	for _, p := range e.peers {
		for _, other := range e.peers {
			if p == other {
				continue
			}
			links, err := e.link(ctx, p, other)
			if err != nil {
				return err
			}
			p.to[other.id] = links
			if p.id < other.id {
				refused, err := links.voting.Inject(ctx, faults.LinkFault{Kind: faults.Refuse})
				if err != nil {
					return err
				}
				mute = append(mute, refused)
			}
		}
	}
	if err := e.openAll(ctx); err != nil {
		return err
	}
	if err := e.settle(ctx); err != nil {
		return err
	}
	for _, p := range e.peers {
		p.known = true
	}
	for _, refused := range mute {
		if _, err := refused.Recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openAll starts the servers, each once the one before listens for votes. Two that came before a third would elect a leader and call nobody any more, and
// the third must not call them yet.
func (e *Ensemble) openAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return e.allAtOnce(func(p *peer) (err error) {
		if p.id > 1 {
			err = e.peers[p.id-2].listens(ctx)
		}
		if err == nil {
			err = p.Open(ctx)
		}
		if err != nil {
			cancel() // the others need not wait
		}
		return err
	})
}

// listens waits until a server listens for votes.
func (p *peer) listens(ctx context.Context) error {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.voting)
		if err == nil {
			return conn.Close()
		}
		if daemon.Pause(ctx) != nil {
			return fmt.Errorf("%s does not listen for votes: %w", p.What, err)
		}
	}
}

// link makes the links from one server to another.
func (e *Ensemble) link(ctx context.Context, from, to *peer) (l *peerLinks, err error) {
	l = &peerLinks{}
	name := fmt.Sprintf("%s-%d-%d", filepath.Base(e.dir), from.id, to.id)
	if l.quorum, err = e.network.Link(ctx, name+"-quorum", to.calls.addr(), nil); err == nil {
		l.voting, err = e.network.Link(ctx, name+"-voting", to.voting, nil)
	}
	return l, err
}

// newPeer prepares a server.
func (e *Ensemble) newPeer(id int) (*peer, error) {
	dir := filepath.Join(e.dir, strconv.Itoa(id))
	log := e.log
	if log != "" {
		log = daemon.Numbered(log, id)
	}
	p := &peer{id: id, to: map[int]*peerLinks{}}
	err := os.MkdirAll(filepath.Join(dir, "data"), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "data", "myid"), []byte(strconv.Itoa(id)), 0o600)
	}
	if err == nil {
		p.quorum, err = p.reserve()
	}
	if err == nil {
		p.voting, err = p.reserve()
	}
	if err == nil {
		p.calls, err = startRelay(p.quorum)
	}
	p.Daemon = &daemon.Daemon{
		What: "server " + strconv.Itoa(id) + " of an ensemble", Guard: e.guard, Dir: dir, Log: log, Fate: e.Fate,
		Command: func(port string) (*exec.Cmd, error) { return e.command(p, port) },
		Ready: func(ctx context.Context, _ *process.Process) error {
			about, err := fourLetters(ctx, p.Addr(), "conf")
			if err == nil && !strings.Contains(about, dir) && !(p.known && strings.Contains(about, "not currently serving")) {
				err = errors.New("it does not serve")
			}
			return err
		},
	}
	return p, err
}

// reserve finds an address for the server, which nobody else is given before the server's end.
func (p *peer) reserve() (addr string, err error) {
	port, release, err := daemon.ReservePort()
	if err != nil {
		return "", err
	}
	p.reserved = append(p.reserved, release)
	return net.JoinHostPort(daemon.Loopback.String(), strconv.Itoa(port)), nil
}

// command runs a server, which calls the others by its links.
func (e *Ensemble) command(p *peer, port string) (*exec.Cmd, error) {
	lines := append(settings(filepath.Join(p.Dir, "data"), port),
		"initLimit="+strconv.Itoa(initLimit), "syncLimit="+strconv.Itoa(syncLimit))
	for _, other := range e.peers {
		quorum, voting := p.quorum, p.voting
		if other != p {
			quorum, voting = p.to[other.id].quorum.Addr(), p.to[other.id].voting.Addr()
		}
		_, voting, _ = net.SplitHostPort(voting) // of an address of the lab's own
		lines = append(lines, fmt.Sprintf("server.%d=%s:%s", other.id, quorum, voting))
	}
	// A server that reaches no other one waits twice as long each time before it calls again, up to a minute by default. While all start only the greater
	// numbers call, so one that comes late would be called late.
	return e.found.command(p.Dir, lines, "-Xmx64m", "-Dzookeeper.fastleader.maxNotificationInterval=400")
}

// allAtOnce calls do for all servers at once.
func (e *Ensemble) allAtOnce(do func(*peer) error) error {
	errs := make([]error, len(e.peers))
	var all sync.WaitGroup
	for i, p := range e.peers {
		all.Go(func() { errs[i] = do(p) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// mode is what a server says that it is: leader or follower; empty: it does not serve.
func (p *peer) mode(ctx context.Context) string {
	about, err := fourLetters(ctx, p.Addr(), "srvr")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(about) {
		if mode, found := strings.CutPrefix(line, "Mode: "); found {
			return strings.TrimSpace(mode)
		}
	}
	return ""
}

// up are the servers that are neither down nor cut off.
func (e *Ensemble) up() []*peer {
	return slices.DeleteFunc(slices.Clone(e.peers), func(p *peer) bool { return p.IsDown() || len(p.cut) > 0 })
}

// settle waits until all servers that are up serve clients, one of them as the leader. A minority serves nobody: it waits for that.
func (e *Ensemble) settle(ctx context.Context) error {
	up := e.up()
	for {
		var modes []string
		for _, p := range up {
			modes = append(modes, p.mode(ctx))
		}
		with := func(mode string) int {
			return len(slices.DeleteFunc(slices.Clone(modes), func(one string) bool { return one != mode }))
		}
		if with("leader") == 1 && with("") == 0 || len(up) <= ensembleSize/2 && with("") == len(up) {
			return nil
		}
		if err := daemon.Pause(ctx); err != nil {
			return fmt.Errorf("the ensemble has no leader whom all follow: %q: %w", modes, err)
		}
	}
}

// Members are the servers, the leader first: so a script can name it.
func (e *Ensemble) Members(ctx context.Context) []server.Member {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []server.Member
	for _, p := range e.peers {
		m := server.Member{Addr: p.Addr()}
		if p.mode(ctx) == "leader" {
			all = slices.Insert(all, 0, m)
		} else {
			all = append(all, m)
		}
	}
	return all
}

// at is the server that listens at an address.
func (e *Ensemble) at(addr string) (*peer, error) {
	for _, p := range e.peers {
		if p.Addr() == addr {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no server of the ensemble listens at %s", addr)
}

// change has something done to a server, and waits until those that are left have a leader.
func (e *Ensemble) change(ctx context.Context, addr, what string, do func(context.Context, *peer) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, server.SettleTime, server.ErrSlow)
	defer cancel()
	p, err := e.at(addr)
	if err == nil {
		err = do(ctx, p)
	}
	if err == nil {
		err = e.settle(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Reset leaves the ensemble without nodes of clients. One of which a server is down or cut off, or has started again, cannot be used again.
func (e *Ensemble) Reset(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	up := e.up()
	if len(up) < ensembleSize || e.bypass {
		return errors.New("reset an ensemble: a server is down or cut off, or has started again")
	}
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	return withSession(ctx, up[0].Addr(), "remove", func(c *jute.Client) error {
		places, err := c.Children("/")
		for _, place := range places {
			if err == nil && place != "zookeeper" {
				err = removeNode(c, "/"+place)
			}
		}
		return err
	})
}

// Questions are one of each server. One that is down refuses; one that is cut off answers.
func (e *Ensemble) Questions() []server.Question {
	var all []server.Question
	for _, p := range e.peers {
		all = append(all, question(p.Addr()))
	}
	return all
}

// Serving are the addresses of the servers that are neither down nor cut off.
func (e *Ensemble) Serving() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var addrs []string
	for _, p := range e.up() {
		addrs = append(addrs, p.Addr())
	}
	return addrs
}

// Addr is where one that serves listens.
func (e *Ensemble) Addr() string {
	if serving := e.Serving(); len(serving) > 0 {
		return serving[0]
	}
	return e.peers[0].Addr() // whoever asks there learns that it is down
}

// Describe says what it is, with its version.
func (e *Ensemble) Describe() string {
	return "ZooKeeper " + e.found.version + " as an ensemble of three (started by the lab)"
}

// Close ends all servers and their links, and removes the directory. Later calls do nothing.
func (e *Ensemble) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	errs = append(errs, e.allAtOnce(func(p *peer) error {
		if p.Running() == nil { // it has not started
			return nil
		}
		return p.Close()
	}))
	for _, p := range e.peers {
		for _, release := range p.reserved {
			release()
		}
		if p.calls != nil {
			errs = append(errs, p.calls.close())
		}
		for _, l := range p.to {
			for _, link := range []*network.Link{l.quorum, l.voting} {
				if link != nil {
					errs = append(errs, link.Close())
				}
			}
		}
	}
	return errors.Join(append(errs, e.guard.RemoveDir(e.dir))...)
}
