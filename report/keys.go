package report

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/history"
)

func (k serverKey) String() string { return k.server + "\x00" + k.key }

// command follows the keys that a command changed, and notes what it did to them.
func (b *timelineBuilder) command(i int) {
	e := b.t.events[i]
	c := commandOf(e)
	if c == nil {
		return
	}
	if c.Late {
		b.endHeldUp(e.Client, i)
	}
	var notes []string
	for _, change := range c.Changes {
		key := serverKey{c.Server, change.Key}
		b.observe(key, i, change.Before)
		if note := b.note(key, e, change); note != "" {
			notes = append(notes, note)
		}
		b.change(key, i, change)
	}
	b.t.notes[i] = strings.Join(notes, "; ")
}

// observe ends a key's life if the server says that it is over.
func (b *timelineBuilder) observe(key serverKey, i int, before history.State) {
	k, known := b.keys[key]
	if known && (!before.Exists() || before.Value != k.state.Value) {
		b.endKey(key, i)
	}
}

func (b *timelineBuilder) change(key serverKey, i int, change history.Change) {
	e := b.t.events[i]
	after := change.After
	k, known := b.keys[key]
	effect := change.Effect(e.Detail.Command.Asked)
	fresh := effect == history.EffectCreated || effect == history.EffectReplaced
	if known && (fresh || !after.Exists()) {
		b.endKey(key, i)
		known = false
	}
	if !after.Exists() {
		return
	}
	if !known {
		k = openKey{from: i}
		if fresh && b.locks[key.key] {
			k.owner = e.Client
		}
	}
	k.state, k.expires = after, 0
	if after.TTL > 0 {
		k.expires = e.At + after.TTL
	}
	b.keys[key] = k
}

// endKey ends the life of a key at event i, or when its time ran out before that.
func (b *timelineBuilder) endKey(key serverKey, i int) {
	k := b.keys[key]
	delete(b.keys, key)
	s := span{Lane: key.server, From: float64(k.from), To: float64(i), Label: k.state.Value, Owner: k.owner, Key: key.key, Open: i >= len(b.t.events)}
	if k.expires > 0 && k.expires < b.at(i) {
		s.To, s.Open = b.t.between(k.expires), false
		text := "the lease of " + key.key + " runs out"
		if k.owner != "" {
			text = fmt.Sprintf("the lease of %s, %s's, runs out", key.key, k.owner)
		}
		b.t.moments = append(b.t.moments, moment{s.To, k.expires, key.server, text})
	}
	b.t.keys = append(b.t.keys, s)
}

// note says in words what a command did to a key, and whose it was.
func (b *timelineBuilder) note(key serverKey, e history.Event, change history.Change) string {
	before, after := change.Before, change.After
	whose := b.whose(key, e.Client)
	switch change.Effect(e.Detail.Command.Asked) {
	case history.EffectCreated:
		return fmt.Sprintf("creates %s = %s%s", key.key, clip(after.Value, 24), left(after))
	case history.EffectRemoved:
		return fmt.Sprintf("removes %s%s", key.key, whose)
	case history.EffectReplaced:
		return fmt.Sprintf("changes %s%s: %s to %s%s", key.key, whose, clip(before.Value, 24), clip(after.Value, 24), left(after))
	case history.EffectProlonged:
		return fmt.Sprintf("prolongs %s%s%s", key.key, whose, left(after))
	case history.EffectShortened:
		return fmt.Sprintf("shortens %s%s%s", key.key, whose, left(after))
	case history.EffectUnclear:
		return fmt.Sprintf("%s changed, or its time ran out", key.key)
	}
	return ""
}

// whose says whose lock a key is, if it is one and somebody's.
func (b *timelineBuilder) whose(key serverKey, by string) string {
	owner := b.keys[key].owner
	switch {
	case owner == "":
		return ""
	case owner == by:
		return ", its own"
	}
	return ", which is " + owner + "'s"
}

func left(s history.State) string {
	if s.TTL == 0 {
		return ""
	}
	return ", " + duration(s.TTL) + " left"
}
