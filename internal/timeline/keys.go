package timeline

import (
	"sort"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// command follows the keys that a command named.
func (b *builder) command(i int, e *history.Event) {
	c := e.CommandIn(&b.room)
	if c == nil {
		return
	}
	for n := range c.Changes {
		change := &c.Changes[n]
		on := keyOn{c.Server, change.Key}
		if k := b.keys[on]; k != nil && (!change.Before.Exists() || change.Before.Value != k.Value) {
			b.endKey(on, i) // as the server says now
		}
		touch := Touch{Event: i, Server: c.Server, Key: change.Key, Change: change, Effect: change.Effect(c.Asked)}
		if k := b.keys[on]; k != nil {
			touch.Owner = k.Owner
		}
		if touch.Effect != history.EffectNone || !change.Before.Exists() {
			own := *change // the command is not kept for it
			touch.Change = &own
			b.Touches = append(b.Touches, touch)
		}
		b.change(on, i, touch)
	}
}

// change follows a key through what a command did to it.
func (b *builder) change(on keyOn, i int, touch Touch) {
	after := touch.Change.After
	fresh := touch.Effect == history.EffectCreated || touch.Effect == history.EffectReplaced
	if fresh || !after.Exists() {
		b.endKey(on, i)
	}
	if !after.Exists() {
		return
	}
	owner := b.owner(on)
	k := b.keys[on]
	if k != nil && (k.Owner != owner || k.Value != after.Value) {
		b.endKey(on, i)
		k = nil
	}
	if k == nil {
		k = &KeySpan{Span: b.at(i), Server: on.server, Key: on.key, Value: after.Value, Owner: owner}
		b.keys[on] = k
	}
	k.expires = 0
	if after.TTL > 0 {
		k.expires = b.Events[i].At + after.TTL
	}
}

// owner is the client whose lock a key is.
func (b *builder) owner(on keyOn) string {
	if on.server == history.Resource {
		return ""
	}
	return b.cursor.Clients.Name(b.cursor.ownerOn(b.cursor.LockNames.Find(on.key), on.server))
}

// ownerOn is the owner of a lock by what is on one server; 0 if it has none, or none is known.
func (v *Cursor) ownerOn(lock int, server string) int {
	k := &v.Locks[lock]
	switch {
	case k.quorum != nil:
		return k.quorum.part(server).Client
	case k.Ledger.Foreign:
		return 0
	}
	return k.Ledger.Owner.Client
}

// newOwners takes in that an answer has made a lock another client's.
func (b *builder) newOwners(i int) {
	for on, k := range b.keys {
		if owner := b.owner(on); owner != k.Owner {
			next := *k
			next.Span, next.Owner = b.at(i), owner
			b.endKey(on, i)
			b.keys[on] = &next
		}
	}
}

// endKey ends the life of a key at event i, or when its time ran out before that.
func (b *builder) endKey(on keyOn, i int) {
	k := b.keys[on]
	if k == nil {
		return
	}
	delete(b.keys, on)
	k.end(float64(i), b.Events[i].At)
	b.expire(k, i)
	b.Keys = append(b.Keys, *k)
}

// expire has the key end when its time ran out, if that was before event i.
func (b *builder) expire(k *KeySpan, i int) {
	if k.expires > 0 && k.expires < b.Events[i].At {
		after := sort.Search(len(b.Events), func(i int) bool { return b.Events[i].At > k.expires })
		k.end(before(after), k.expires)
		k.Expired = true
	}
}

// serverFault ends what is no longer so after a restart, or no longer known after a jump of the server's clock.
func (b *builder) serverFault(i int, f *history.Fault) {
	for on, k := range b.keys {
		switch kind := faults.Kind(f.Name).Of().Recorded; {
		case history.ServerOf(on.server) != f.Target:
		case kind == faults.Restart:
			b.endKey(on, i)
		case kind == faults.ClockJump:
			k.expires = 0
		}
	}
}
