package explore

import "github.com/locklab/locklab/history"

// Whose the lock is takes much to remember. Where no anomaly is looked for that asks it, the search follows only when the lease ends of what is under the
// key: time stops there, too. So it has fewer states to tell apart. Of a lock on several servers hardly anything is remembered then anyway.

// followLease takes in what a command does to that lease.
func (j *judge) followLease(cmd command) {
	if !cmd.after.Exists() {
		j.s.owner = owner{}
		return
	}
	o, mine := &j.s.owner, j.mine(cmd, false)
	switch cmd.effect {
	case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
		o.ends, o.margin = mine.ends, mine.margin
	case history.EffectProlonged:
		j.extend(false, mine)
	case history.EffectShortened:
		if cmd.unlimited {
			j.extend(true, mine)
		} else {
			o.ends = min(o.ends, mine.ends)
		}
	}
}
