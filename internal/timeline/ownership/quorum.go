package ownership

import "github.com/locklab/locklab/history"

// Part is what the rules need to know of a command on one server of several.
type Part struct {
	Effect history.Effect // on that server
	Own    bool           // what is there is its client's
	Again  bool           // its client has the lock, and takes it once more
	// Acquire: it is part of an acquire, whether that has returned or not.
	Acquire bool
	// Of an unclear effect only: what is there has the value from before.
	SameValue bool
}

// Change is what the command makes of whose the server's part is: Take, Extend, Shorten or Keep. A part that is gone has no owner.
func (p Part) Change() Change {
	switch p.Effect {
	case history.EffectCreated:
		return Take
	case history.EffectReplaced:
		if p.Own && (p.Again || !p.Acquire) {
			return Extend
		}
		return Take
	case history.EffectProlonged:
		if p.Own {
			return Extend
		}
	case history.EffectShortened:
		return Shorten
	case history.EffectUnclear:
		switch {
		case p.Own && p.SameValue:
			return Extend
		case !p.SameValue, p.Acquire:
			return Take
		}
	}
	return Keep
}

// Swing is what a command on one server of several made of the majorities of the owner and of the command's client.
type Swing struct {
	Effect   history.Effect // on that server
	Own      bool           // its client is the owner
	Had, Has bool           // the owner had so many servers before it, and has them after it, that nobody else can have the lock
	Wins     bool           // its client has the lock since it, by one acquire
	Prolongs bool           // it has lengthened for how long nobody else can
}

// Whole is the effect on the lock as a whole. It becomes a client's when one acquire of its has it on as many servers as the lock needs, a
// majority or all. It stays its owner's until others can have so many. What is left on fewer has no owner.
func (s Swing) Whole() history.Effect {
	loses := s.Had && !s.Has
	switch {
	case s.Wins && s.Had && !s.Own:
		return history.EffectReplaced
	case s.Wins:
		return history.EffectCreated
	case loses && s.Own: // what it finds on the other servers may show that it had lost the lock before
		return history.EffectUnclear
	case loses && (s.Effect == history.EffectRemoved || s.Effect == history.EffectReplaced):
		return s.Effect
	case s.Own && s.Has && s.Effect == history.EffectReplaced: // a lock that counts
		return s.Effect
	case s.Prolongs && !s.Own && s.Has:
		return history.EffectProlonged
	}
	return history.EffectNone
}

// Extends says whether the command may have changed when the owner's lease ends.
func (s Swing) Extends() bool { return !s.Wins && s.Own && s.Has && s.Effect != history.EffectNone }

// Freed says whether a release has removed its client's lock from as many servers as the lock needs. Only what its own commands removed counts, and only
// parts by the acquire by which the client certainly had the lock when the release was called. A release that has removed fewer may be answered no: the
// answers of the other servers decide, and their parts may be gone.
func Freed(servers, need int) bool { return servers >= need }

// WholeChange is what becomes of the ownership by an effect on the lock as a whole. live: the owner's claim must be respected. majority: the
// command's client has so many servers as the lock needs.
func WholeChange(effect history.Effect, own, live, majority bool) Change {
	switch effect {
	case history.EffectReplaced:
		switch {
		case own:
			return Keep
		case live:
			return Challenge
		case majority:
			return Take
		}
		return Free
	case history.EffectCreated:
		return Take
	case history.EffectRemoved, history.EffectUnclear:
		return Free
	}
	return Keep
}
