package reproduce

import (
	"path"
	"slices"

	"github.com/locklab/locklab/history"
)

// What is special about locks on a ZooKeeper.

// entries takes what a ZooKeeper does by itself, as far as it comes next: it belongs to what has led to it.
func (r *reader) entries() []history.Event {
	n := 0
	for n < len(r.rest) && r.rest[n].Kind == history.KindCommand {
		if c := r.rest[n].Command(); !c.ByServer() && c.Args[0] != "PING" {
			break
		}
		n++
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// behind says whether all that an operation changed were nodes of a ZooKeeper behind the first.
func (t *schedule) behind(d *operation) bool {
	for _, b := range t.moments {
		if b.operation != d || !b.changes {
			continue
		}
		lock, known := b.change()
		if name := nameOf(b.events[0].Command().Args); !known || name != "CREATE" && name != "DELETE" || lock.Before != lock.After {
			return false
		}
	}
	return true
}

// namesKey says whether a command names a key that breakpoints count, or a node below the lock's.
func namesKey(command []string) bool {
	return slices.ContainsFunc(command, func(word string) bool {
		return word == lockName || word == dataName || word == lockNode || path.Dir(word) == lockNode
	})
}
