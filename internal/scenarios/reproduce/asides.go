package reproduce

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/sim/trace"
)

// The keys of the model that breakpoints count: the lock's, and that of the data.
const (
	lockName = "k"
	lockNode = "/k" // on a ZooKeeper
	dataName = "k:counter"
)

// counts says whether breakpoints count a request: it names a key, and a script that the server did not know is sent once more.
func counts(step *trace.Step) bool {
	return !unloaded(step) && slices.ContainsFunc(step.Request, namesKey)
}

// unloaded says whether a server did not know the script of a request, in the model or on the wire.
func unloaded(step *trace.Step) bool {
	return strings.HasPrefix(step.Reply, "(error) NOSCRIPT") || strings.HasPrefix(step.Reply, "-NOSCRIPT")
}

// A breakpoint cannot stop a client at a request that names neither the lock nor the data, such as one for a fence or an intent under another key. It is
// executed as soon as its client goes on. So which of two such requests is first is decided by the order of the moments that they come with.

// execution is a request to a server, at a place in the trace.
type execution struct {
	at      int
	server  int
	changes bool
	keys    []string
}

// asideOf is the execution of the ith step of a trace, which breakpoints do not count.
func asideOf(i int, step *trace.Step, changes bool) execution {
	return execution{i, step.Server, changes, keysOf(step.Request)}
}

var table = commands.NewTable()

// keysOf are the keys that a request names.
func keysOf(request [][]string) (keys []string) {
	for _, command := range request {
		args := make([][]byte, len(command))
		for i, arg := range command {
			args[i] = []byte(arg)
		}
		keys = append(keys, table.Find(args).WatchedKeys(args, func(string) bool { return true })...)
	}
	return keys
}

// meets says whether it matters which of two executions comes first.
func (e execution) meets(other execution) bool {
	return e.server == other.server && (e.changes || other.changes) && slices.ContainsFunc(e.keys, func(key string) bool { return slices.Contains(other.keys, key) })
}

// takeAsides gives an operation's requests that are not counted to the moment with which they are executed: the latest, or, where the client would be
// stopped at the reply to that, the next.
func (o *operation) takeAsides(next *moment) {
	to := o.latest
	if next != nil && (to == nil || next.kind == trace.Return && (to.kind == trace.Serve || to.kind == trace.Reply)) {
		to = next
	}
	if to != nil {
		to.asides = append(to.asides, o.asides...)
		o.asides = nil
	}
	if next != nil {
		o.latest = next
	}
}

// asideFirst says which of two moments must come first, because of what is executed with them that is not counted: the first, the second, or it does not
// matter.
func asideFirst(a, b *moment) (first, second bool) {
	for _, x := range a.executions() {
		for _, y := range b.executions() {
			if x.meets(y) && (len(a.asides) > 0 || len(b.asides) > 0) {
				first, second = first || x.at < y.at, second || x.at > y.at
			}
		}
	}
	return first, second
}

// executions are the moment's own, and those that come with it.
func (b *moment) executions() []execution {
	if b.own == nil {
		return b.asides
	}
	return append([]execution{*b.own}, b.asides...)
}

// holds says whether moments are in an order in which each comes after what it needs.
func holds(moments []*moment, needs map[*moment][]*moment) bool {
	done := map[*moment]bool{}
	for _, b := range moments {
		if slices.ContainsFunc(needs[b], func(a *moment) bool { return !done[a] }) {
			return false
		}
		done[b] = true
	}
	return true
}
