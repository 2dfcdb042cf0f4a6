package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// interference is what the commands of one client do to the lock of another:
//
//   - early-grant: the service granted the lock while its owner's lease had time left and no release was called. (If a command had
//     removed the lock before, that was a wrongful-delete.)
//   - overwrite: a command replaced the value of another client's live lock. A refused acquire that only counted the number there took nothing; one that set it did.
//   - wrongful-delete: a command removed a lock that another client owned.
//   - wrongful-renew: a command prolonged another client's lock.
//
// One rule says who owns a lock: a client that was told that it has it, while its lease has time left, until it calls release or is told
// of the loss. Neither a declared validity shorter than the lease ends that, nor a crash: a lock with a lease goes to the next client when
// the lease has ended, and not before.
//
// A lock whose acquire is still pending is its client's if that acquire returns ok in the end; until then the charge is kept.
type interference struct {
	charges []charge
}

// charge says what a client's command did to another client's lock.
type charge struct {
	name    Name
	lock    int
	culprit int
	grant   int64 // the culprit's acquire, which must return ok for the charge to count; zero: it counts as it is
	victim  timeline.Claim
	event   int // index of the command
	at      time.Duration
	command string
}

// proven: the victim was told that it has the lock, and so was the culprit where that matters.
func (c charge) proven() bool { return c.grant == 0 && c.victim.Standing == timeline.Granted }

func (m *interference) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	switch f.Event.Kind {
	case history.KindCommand:
		return m.command(f, v)
	case history.KindReturn:
		if f.Op.Kind == history.OpAcquire && len(m.charges) > 0 {
			return m.settle(f, v)
		}
	}
	return nil
}

func (m *interference) command(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Change == nil || f.Owner.Client == 0 || f.Owner.Client == f.Client {
		return nil
	}
	var found []Anomaly
	file := func(name Name, grant int64) {
		c := charge{
			name: name, lock: f.Lock, culprit: f.Client, grant: grant, victim: f.Owner,
			event: f.Index, at: f.Event.At, command: commandWord(f),
		}
		if c.proven() {
			found = append(found, c.anomaly(v))
			return
		}
		m.charges = append(m.charges, c)
	}
	command := f.Command()
	if command.EarlyGrant() {
		file(EarlyGrant, f.Mine.Op)
	}
	switch command.Interference() {
	case history.EffectReplaced:
		file(Overwrite, 0)
	case history.EffectRemoved:
		file(WrongfulDelete, 0)
	case history.EffectProlonged:
		file(WrongfulRenew, 0)
	}
	return found
}

// settle takes in the outcome of an acquire on which charges wait.
func (m *interference) settle(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	var found []Anomaly
	m.charges = slices.DeleteFunc(m.charges, func(c charge) bool {
		return c.grant == f.Op.ID && c.culprit == f.Client && f.Op.Outcome != history.OK ||
			c.victim.Op == f.Op.ID && c.victim.Client == f.Client && f.Op.Outcome != history.OK
	})
	for n := range m.charges {
		c := &m.charges[n]
		if c.grant == f.Op.ID && c.culprit == f.Client {
			c.grant = 0
		}
		if c.victim.Op == f.Op.ID && c.victim.Client == f.Client {
			c.victim.Settle(f.Op)
		}
		if c.proven() {
			found = append(found, c.anomaly(v))
		}
	}
	m.charges = slices.DeleteFunc(m.charges, charge.proven)
	return found
}

func (c charge) anomaly(v *timeline.Cursor) Anomaly {
	culprit, victim := v.Clients.Name(c.culprit), v.Clients.Name(c.victim.Client)
	return Anomaly{
		Name: c.name, Lock: v.LockNames.Name(c.lock), Clients: []string{culprit, victim}, At: c.at,
		Why:    c.why(culprit, victim),
		Events: inOrder(c.victim.Command, c.victim.Settled, c.event),
	}
}

func (c charge) why(culprit, victim string) string {
	act := fmt.Sprintf("%s's %s at %s", culprit, c.command, seconds(c.at))
	owned := fmt.Sprintf("%s had held since %s", victim, seconds(c.victim.Since()))
	if c.victim.SettledAt > c.at {
		owned = fmt.Sprintf("%s had acquired at %s and learned of at %s", victim, seconds(c.victim.At), seconds(c.victim.SettledAt))
	}
	switch c.name {
	case EarlyGrant:
		if c.victim.Ends == timeline.Never {
			return fmt.Sprintf("%s was granted the lock that %s and had not released; that lock has no lease.", act, owned)
		}
		return fmt.Sprintf("%s was granted the lock that %s, with %s of its lease left.", act, owned, left(c.victim.Ends-c.at))
	case Overwrite:
		return fmt.Sprintf("%s overwrote the lock that %s.", act, owned)
	case WrongfulDelete:
		return fmt.Sprintf("%s removed the lock that %s.", act, owned)
	default:
		return fmt.Sprintf("%s prolonged the lock that %s.", act, owned)
	}
}

// left words a remaining time.
func left(d time.Duration) string { return d.Round(time.Millisecond).String() }
