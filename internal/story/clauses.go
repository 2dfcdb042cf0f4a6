package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// cause is what began it, as a clause.
func (t *teller) cause(a checker.Anomaly) string {
	who, whom := doer(a), victim(a)
	switch a.Name {
	case checker.WrongfulDelete:
		return fmt.Sprintf("%s's %s removed %s", who, t.command(a), t.lockOf(who, whom))
	case checker.WrongfulRenew:
		return fmt.Sprintf("%s's %s prolonged %s", who, t.command(a), t.lockOf(who, whom))
	case checker.Overwrite:
		return fmt.Sprintf("%s's %s overwrote %s", who, t.command(a), t.lockOf(who, whom))
	case checker.EarlyGrant:
		if lost := t.serverFault(a.At); lost != "" {
			return fmt.Sprintf("%s, and %s's %s got the lock that %s still had", lost, who, t.command(a), whom)
		}
		return fmt.Sprintf("%s's %s got the lock that %s still had", who, t.command(a), whom)
	case checker.DoubleHolder:
		return t.doubleHolder(who, whom, a)
	case checker.StaleWrite:
		return fmt.Sprintf("%s, and its write was accepted all the same", t.lapse(who, a))
	case checker.LostUpdate:
		if whom == "" {
			return "" // the loss says it
		}
		return fmt.Sprintf("%s wrote by what it had read before %s wrote", who, whom)
	case checker.GhostLock:
		return fmt.Sprintf("%s's %s got the lock, but %s's acquire ended without it", who, t.command(a), who)
	case checker.StuckLock:
		return fmt.Sprintf("%s was refused although no client held the lock%s", who, t.leftBy(a))
	case checker.Unreleasable:
		return fmt.Sprintf("%s released its lock, and the lock stayed", who)
	case checker.FalseAlarm:
		return fmt.Sprintf("%s was told that it had lost a lock that it had", who)
	case checker.HungOperation:
		return fmt.Sprintf("%s's %s did not come back in time, though only the lock delayed it", who, t.operation(a))
	case checker.MissedWakeup:
		return fmt.Sprintf("the lock was free, and %s, who waited for it, did not take it", who)
	case checker.FenceRegression:
		return fmt.Sprintf("%s got a fencing token that is not greater than %s's before it", who, whom)
	case checker.Unfair:
		return fmt.Sprintf("%s got the lock before %s, who had asked first", who, whom)
	case checker.DeadGrant:
		return fmt.Sprintf("%s was told that it had the lock when its lease was over", who)
	}
	return lower(strings.TrimSuffix(a.Why, "."))
}

// so is what the cause came to, behind its clause.
func (t *teller) so(cause, came checker.Anomaly) string {
	who, whom := doer(came), victim(came)
	switch came.Name {
	case checker.DoubleHolder:
		if cause.Name == checker.EarlyGrant && who == doer(cause) && whom == victim(cause) {
			return ": both held it"
		}
		return fmt.Sprintf(", so %s got it beside %s", who, whom)
	case checker.EarlyGrant:
		return fmt.Sprintf(", so %s got what %s still had", who, whom)
	case checker.StuckLock:
		return fmt.Sprintf(", so %s was refused although no client held it", who)
	case checker.Unreleasable:
		return fmt.Sprintf(", so %s could not release it", who)
	case checker.StaleWrite:
		return fmt.Sprintf(", and %s's late write was accepted", who)
	case checker.FalseAlarm:
		return fmt.Sprintf(", so %s was told that it had lost it", who)
	}
	return ""
}

// lockOf is a client's lock, or its own.
func (t *teller) lockOf(who, whom string) string {
	if whom == "" || who == whom {
		return "its own lock"
	}
	return whom + "'s lock"
}

// command is the word of the command by which an anomaly's doer did it.
func (t *teller) command(a checker.Anomaly) string {
	for _, i := range slices.Backward(a.Events) {
		if i < 0 || i >= len(t.Events) || t.Events[i].Client != doer(a) {
			continue
		}
		var room history.Room
		if c := t.Events[i].CommandIn(&room); c != nil && len(c.Args) > 0 {
			return commandWord(c.Args[0])
		}
	}
	return "command"
}

// commandWord is the command, or what a reader calls it.
func commandWord(name string) string {
	switch name = strings.ToUpper(name); name {
	case "EVAL", "EVALSHA":
		return "script"
	case "EXEC":
		return "transaction"
	}
	return name
}

// operation is that of an anomaly's last event.
func (t *teller) operation(a checker.Anomaly) string {
	for _, i := range slices.Backward(a.Events) {
		if i >= 0 && i < len(t.Events) && t.Events[i].Op != history.OpNone {
			return t.Events[i].Op.String()
		}
	}
	return "operation"
}

// doubleHolder says how one client got the lock beside another, whose hold of a lock without a lease nothing has ended.
func (t *teller) doubleHolder(who, whom string, a checker.Anomaly) string {
	opened := t.opened(a.Lock)
	if opened.Leaseless && !opened.Session && t.serverFault(a.At) == "" {
		return fmt.Sprintf("nothing kept %s from the lock while %s held it", who, whom)
	}
	if t.owned(whom, a.At) > t.owned(who, a.At) { // the later answer was the untrue one
		return fmt.Sprintf("%s, but its acquire returned ok beside %s", t.lapse(who, a), whom)
	}
	return fmt.Sprintf("%s, so %s got the lock beside it", t.lapse(whom, a), who)
}

// lapse is how a client that took the lock for its own had come to lose it by the time of an anomaly.
func (t *teller) lapse(client string, a checker.Anomaly) string {
	opened := t.opened(a.Lock)
	ended, expired := t.lockEnded(client, a)
	end := "its lease ended"
	if opened.Session {
		end = "its session ended"
	}
	if !expired {
		if lost := t.serverFault(a.At); lost != "" {
			return fmt.Sprintf("%s and lost %s's lock", lost, client)
		}
	}
	for _, kind := range []faults.Kind{faults.Pause, faults.Partition, faults.Refuse, faults.Skew, faults.Delay, faults.ReplyLost, faults.HoldReply, faults.HoldRequest} {
		for n := range t.Faults {
			f := &t.Faults[n]
			if f.Kind != kind || !f.Hits(client) || f.Began > a.At || f.Ended != 0 && !f.Open && f.Ended < ended && kind != faults.Skew {
				continue
			}
			return fmt.Sprintf("%s %s", client, during(kind, end))
		}
	}
	return fmt.Sprintf("%s went on when %s", client, strings.Replace(end, "ended", "was over", 1))
}

// during says what befell a client when its lease ended.
func during(kind faults.Kind, end string) string {
	switch kind {
	case faults.Pause:
		return "was paused while " + end
	case faults.Partition, faults.Refuse:
		return "was cut off while " + end
	case faults.Skew:
		return "measured by a wrong clock when " + end
	case faults.Delay:
		return "had a slow link while " + end
	case faults.ReplyLost, faults.HoldReply:
		return "waited for a reply while " + end
	}
	return "had a request on its way while " + end
}

// owned is on how many servers a client owned the lock at a time.
func (t *teller) owned(client string, at time.Duration) (servers int) {
	for i := range t.Keys {
		if k := &t.Keys[i]; k.Owner == client && k.Began <= at && (k.Open || k.Ended > at) {
			servers++
		}
	}
	return servers
}

// lockEnded is when a client's lock was gone on a server, up to an anomaly, and whether its time had run out.
func (t *teller) lockEnded(client string, a checker.Anomaly) (at time.Duration, expired bool) {
	for i := range t.Keys {
		if k := &t.Keys[i]; k.Owner == client && k.Ended <= a.At && k.Ended >= at {
			at, expired = k.Ended, k.Expired
		}
	}
	return at, expired
}

// opened is what is on record of a lock.
func (t *teller) opened(lock string) history.Detail {
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == history.KindOpen && e.Lock == lock && e.Detail != nil {
			return *e.Detail
		}
	}
	return history.Detail{}
}

// serverFault is what had befallen a server by a time, the latest first, with the others that it befell too; empty: nothing.
func (t *teller) serverFault(by time.Duration) string {
	var latest *timeline.FaultSpan
	befell := func(f *timeline.FaultSpan) bool {
		return f.Kind.Changes() && f.Kind != faults.Stall && f.Effective >= 0 && t.Events[f.Effective].At <= by
	}
	for n := range t.Faults {
		if f := &t.Faults[n]; befell(f) && (latest == nil || f.Effective > latest.Effective) {
			latest = f
		}
	}
	if latest == nil {
		return ""
	}
	var names []string
	for n := range t.Faults {
		f := &t.Faults[n]
		if name := serverName(f.Target); befell(f) && serverWords(f, false) == serverWords(latest, false) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	last := len(names) - 1
	if last == 0 {
		return names[0] + " " + serverWords(latest, false)
	}
	return strings.Join(names[:last], ", ") + " and " + names[last] + " " + serverWords(latest, true)
}

// serverWords is what befell a server, or several.
func serverWords(f *timeline.FaultSpan, several bool) string {
	was, they, their, clock, replica := "was", "it", "its", "clock", "a replica"
	if several {
		was, they, their, clock, replica = "were", "they", "their", "clocks", "replicas"
	}
	switch f.Kind {
	case faults.Restart:
		switch {
		case strings.Contains(f.What, "fails over"), strings.Contains(f.What, "replica"):
			return "failed over to " + replica
		case strings.Contains(f.What, "saved"):
			return "restarted with what " + they + " had saved"
		}
		return "restarted without " + their + " data"
	case faults.SplitBrain:
		return "failed over while the old primary still answered"
	case faults.Down:
		return "went down"
	case faults.ClockJump:
		return "had " + their + " " + clock + " moved"
	case faults.Isolated:
		return was + " cut off from the others"
	case faults.Operator:
		return "had the lock's expiry set by hand"
	}
	return was + " disturbed"
}

// serverName is a server as a reader calls it.
func serverName(name string) string {
	if name == "redis" || name == "" {
		return "the server"
	}
	return name
}

// leftBy names who had the lock last, of a lock that is stuck.
func (t *teller) leftBy(a checker.Anomaly) string {
	whom := victim(a)
	if whom == "" {
		return ""
	}
	for n := range t.Faults {
		if f := &t.Faults[n]; f.Hits(whom) && (f.Kind == faults.Crash || f.Kind == faults.ThreadDeath) && f.Began <= a.At {
			return fmt.Sprintf(": %s had died without releasing it", whom)
		}
	}
	return fmt.Sprintf(": %s had left it locked", whom)
}
