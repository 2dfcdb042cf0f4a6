package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// Talk is a conversation with clients, request by request and outside of any script. Their links and servers are those of a cell.
type Talk struct {
	cell *cell
	ctx  context.Context
}

// Talk starts the clients of a subject, each with its further handles ("C1/2"), has them say hello, and calls do. The error is a *ClientError
// if one of them did not say hello.
func (w *World) Talk(ctx context.Context, subject play.Subject, lease time.Duration, clients, handles []string, dir string, do func(*Talk)) (err error) {
	full := filepath.Join(w.cfg.Dir, dir)
	if err := os.MkdirAll(full, 0o755); err != nil {
		return err
	}
	if err := w.awaitTurn(ctx); err != nil {
		return err
	}
	w.serves(&subject.Traits)
	script := &scenarios.Script{Name: dir, Lease: lease, Clients: clients, Handles: handles}
	c := w.newCell(subject, script, clients, full)
	c.run.Record = play.NewRecorder(c.stage.Now)
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.CellTimeout, fmt.Errorf("it had %v", w.cfg.CellTimeout))
	defer cancel()
	ctx, c.spoil = context.WithCancelCause(ctx)
	defer c.spoil(nil)

	failed := c.startStage(ctx)
	w.passTurn()
	if failed == nil {
		errs := atOnce(len(clients), func(i int) error { return c.peers[clients[i]].start(ctx) })
		failed = firstEnding(errs, errors.Join(errs...))
	}
	if failed == nil {
		do(&Talk{c, ctx})
	}
	c.run.End()
	c.stopClients()
	return errors.Join(asClientError(failed), c.close())
}

// Hello is what a client said.
func (t *Talk) Hello(client string) protocol.Hello { return t.cell.peers[client].hello }

// Counter is the key of the work.
func (t *Talk) Counter() string { return t.cell.store.prefix + "counter" }

// Keys are those that the lock has on its server, and how many of them its holder needs.
func (t *Talk) Keys() (keys []string, need int) {
	set := t.cell.run.LockKeys.Of(t.cell.run.LockKey)
	return set.Keys, set.Need
}

// Opened takes in the answer to a request that Open made.
func (t *Talk) Opened(client string, req protocol.Request, answer protocol.Message) error {
	handles := t.cell.peers[client].client.Handles
	at := slices.IndexFunc(handles, func(h *play.Handle) bool { return requestName(h) == req.Handle })
	return t.cell.opened(handles[max(at, 0)], answer)
}

// Send sends a request, whose number it sets, and returns where its answer comes.
func (t *Talk) Send(client string, req protocol.Request) (id int64, answer <-chan protocol.Message, err error) {
	req.ID = t.cell.run.NextID()
	answer, err = t.cell.peers[client].send(req)
	return req.ID, answer, err
}

// Gone says why a client's output has ended.
func (t *Talk) Gone(client string) string { return t.cell.peers[client].departure() }

// Departed is a client whose connection has ended, "" if there is none.
func (t *Talk) Departed() string {
	for _, client := range t.cell.run.Clients {
		if closed(t.cell.peers[client.Name].worker.Conn.Done()) {
			return client.Name
		}
	}
	return ""
}

// Exited waits for the end of a client's process, and says how it ended.
func (t *Talk) Exited(client string, within time.Duration) (state string, exited bool) {
	p := t.cell.peers[client]
	p.client.Doom() // its end is no surprise
	select {
	case <-p.worker.Proc.Done():
		return p.worker.Proc.State(), true
	case <-time.After(within):
		return p.worker.Proc.State(), false
	}
}

// Open is the request that opens a handle, over the client's own addresses or those of the handle.
func (t *Talk) Open(handle string) protocol.Request {
	h := t.cell.run.Handle(handle)
	return t.cell.peers[h.Client.Name].openRequest(h)
}

// Init is the request that begins a conversation.
func (t *Talk) Init(client string) protocol.Request {
	p := t.cell.peers[client]
	return p.initRequest(p.hello.Version)
}

// Hold holds the next request of a handle: to a lock server, or to the resource.
func (t *Talk) Hold(handle string, resource bool) play.Armed {
	at := faults.Breakpoint{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchAny}}
	return t.cell.stage.Arm(at, handle, play.Background, resource)
}

// lookEvery is how often Until looks.
const lookEvery = 5 * time.Millisecond

// Until waits until done, for at most d, and returns the last result of done.
func (t *Talk) Until(d time.Duration, done func() bool) bool {
	expired := time.After(d)
	for !done() {
		select {
		case <-time.After(lookEvery):
		case <-expired:
			return done()
		case <-t.ctx.Done():
			return false
		}
	}
	return true
}

// Traffic is what the clients of a conversation have sent by themselves: commands to the servers, and news of their locks.
type Traffic struct{ record *play.Recorder }

// Traffic is what the clients have sent so far, and will send.
func (t *Talk) Traffic() Traffic { return Traffic{t.cell.run.Record} }

// Sent counts the commands about the lock that lock servers have carried out for a handle. One about several keys of the lock counts for each.
func (t Traffic) Sent(handle string) int { return len(t.servers(handle)) }

// Touched counts the keys of the lock that these commands were about.
func (t Traffic) Touched(handle string) int {
	servers := t.servers(handle)
	slices.Sort(servers)
	return len(slices.Compact(servers))
}

// servers are those of the commands that Sent counts. In a history, each of several keys of a lock is on a server of its own.
func (t Traffic) servers(handle string) (list []string) {
	t.record.Count(func(e history.Event) bool {
		if c := e.Command(); c != nil && e.Client == handle && c.Server != history.Resource {
			list = append(list, c.Server)
		}
		return false
	})
	return list
}

// Taking is a command by which the lock of one handle has removed or replaced what the lock of another had written.
type Taking struct {
	By, Command string // the handle and its command
	Did         string // "removed" or "replaced"
	From        string // the other handle
}

// Taking is the first of the conversation; nil if there is none. A number that follows a number is a count, which does not say whose it is; nor
// does a node of a ZooKeeper that has become the first one.
func (t Traffic) Taking() (first *Taking) {
	writers := map[[2]string]string{} // by server and key
	t.record.Count(func(e history.Event) bool {
		c := e.Command()
		if c == nil || c.Server == history.Resource || first != nil {
			return false
		}
		for _, change := range c.Changes {
			key, effect := [2]string{c.Server, change.Key}, change.Effect(c.Asked)
			from := writers[key]
			another := from != "" && from != e.Client
			switch {
			case effect == history.EffectRemoved && another:
				first = &Taking{e.Client, c.Args[0], "removed", from}
			case effect == history.EffectRemoved, effect == history.EffectReplaced && change.After.Type == "znode":
				delete(writers, key)
			case effect == history.EffectCreated:
				writers[key] = e.Client
			case effect != history.EffectReplaced, isNumber(change.Before.Value) && isNumber(change.After.Value):
			case !another:
				writers[key] = e.Client
			case change.After.Type == "string":
				first = &Taking{e.Client, c.Args[0], "replaced", from}
			}
		}
		return false
	})
	return first
}

func isNumber(value string) bool {
	_, err := strconv.ParseInt(value, 10, 64)
	return err == nil
}

// Told says whether a handle has declared in the background how long its hold is valid, or that it is lost.
func (t Traffic) Told(handle string) bool {
	return t.record.Count(func(e history.Event) bool {
		return e.Client == handle && (e.Kind == history.KindLost || e.Kind == history.KindValid)
	}) > 0
}

// State is the state of the lock's key on the first server.
func (t *Talk) State() (history.State, error) {
	return t.cell.stage.servers[0].State(t.ctx, t.cell.run.LockKey)
}

// Do sends a command to each lock server, past links and taps.
func (t *Talk) Do(command ...any) (err error) {
	for _, s := range t.cell.stage.servers {
		err = errors.Join(err, redis.Lay(t.ctx, s.endpoint(), [][]any{command}))
	}
	return err
}

// Disturb injects a fault into a client's links; Heal ends it.
func (t *Talk) Disturb(client string, fault faults.LinkFault) error {
	_, err := t.cell.peers[client].links.Disturb(t.ctx, fault, nil)
	return err
}

// Heal ends the faults of a client's links.
func (t *Talk) Heal(client string) error {
	_, err := t.cell.peers[client].links.Heal(t.ctx, nil)
	return err
}

// Pause stops a client's process for a while.
func (t *Talk) Pause(client string, d time.Duration) error {
	p := t.cell.peers[client]
	if err := p.Pause(t.ctx); err != nil {
		return err
	}
	return errors.Join(sleep(t.ctx, d), p.worker.Proc.Resume(t.ctx)) // not p.Resume: that it was late then is no stall, but the client should say so
}

// Late says whether a client has said that it was late since a time of the conversation.
func (t *Talk) Late(since time.Duration) bool {
	return t.cell.stage.late.Longest(t.cell.stage.base.Add(since)) > 0
}

// Now is the time of the conversation, and Stall the longest host stall since a time.
func (t *Talk) Now() time.Duration { return t.cell.stage.Now() }
func (t *Talk) Stall(since time.Duration) time.Duration {
	return t.cell.world.pulse.Longest(t.cell.stage.base.Add(since))
}
