package explore

import (
	"errors"
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// A lock can ask a server how long a key still lives, and compare that with something. Then the time matters at which a server answers, between the
// ends of leases, too. Such times are found as those of clients' clocks are (see thresholds): what a client does next, and what a server answers, is
// rehearsed at many times; where it becomes another one, there is a threshold.

// errLives: the search has to begin again, because a lock has turned out to ask how long a key lives.
var errLives = errors.New("the lock asks how long a key lives")

// errNominal: the search has to begin again, because a lock has turned out to have no expiry on its server. The leases of others count from no command.
var errNominal = errors.New("the lock has no expiry")

// errUnasked is of a background task that declares how long its lock is held without having asked for it.
var errUnasked = errors.New("it calls Renewed, and the latest reply was none about the lock: from when on the hold lasts is not known")

// lives is a client's place, with what it can ask about.
type lives struct {
	node, reply uint32
	phase       phase
	servers     [learn.MostServers]uint32
	limit       ms
	shown       learn.Reading // if its lock reads clocks
	skew        int8          // if that is a rate
}

// instantsOfLives appends the lengths of time, up to a limit, after which some client would learn something else of the servers' keys than before.
func (x *explorer) instantsOfLives(list []ms, s *state, limit ms) []ms {
	if limit = min(limit, farthest); !x.told && (!x.lives || limit == farthest) {
		return list
	}
	for i := range x.clients {
		c := &s.clients[i]
		_, calls := x.next(c)
		if n := &x.automaton.Nodes[c.node]; c.phase == crashed || c.phase == finished || n.Idle && !calls && c.phase != waiting {
			continue
		}
		key := lives{node: c.node, reply: c.replies[0], phase: c.phase, servers: s.servers, limit: limit}
		if x.told {
			key.shown = x.reading(s, i)
		}
		if x.slow != 0 {
			key.skew = c.skew
		}
		known, asked := x.lived[key]
		if !asked {
			known = x.found.ofLives(x.givenWithServers(s, i, limit), func() []ms { return x.searchLives(s, i, limit) })
			x.lived[key] = known
		}
		for _, d := range known {
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return list
}

// searchLives tries times that are evenly spaced, and bisects where a client does something else. Who does not ask cannot do so before the limit.
func (x *explorer) searchLives(s *state, i int, limit ms) (found []ms) {
	now, asks := x.doesAfter(s, i, 0)
	if !x.told && !asks {
		return nil
	}
	apart := x.lease / probesPerLease
	if !x.told {
		apart = max(apart, limit/(horizon*probesPerLease))
	}
	seen := map[ms]string{0: now}
	does := func(d ms) string {
		what, known := seen[d]
		if !known {
			what, _ = x.doesAfter(s, i, d)
			seen[d] = what
		}
		return what
	}
	for low := ms(0); low < limit; low += apart {
		if x.told && low >= horizon*x.lease {
			apart = low
		}
		from, to := low, min(low+apart, limit)
		if does(from) == does(to) {
			continue
		}
		for to-from > 1 {
			if middle := from + (to-from)/2; does(middle) == does(from) {
				from = middle
			} else {
				to = middle
			}
		}
		for _, d := range [...]ms{to - 1, to} {
			if d > 0 && d < limit-1 { // to the last millisecond it passes anyway
				found = append(found, d)
			}
		}
	}
	return found
}

// doesAfter is what a client does by itself, and what it is answered, after some time. It also says whether the client asks how long a key lives.
func (x *explorer) doesAfter(s *state, i int, d ms) (what string, asks bool) {
	defer x.besides()()
	var b strings.Builder
	after := *s
	for k := range x.serverCount {
		after.servers[k] = x.servers.Tick(after.servers[k], d)
	}
	if x.timed {
		after.now += d
	}
	c := &after.clients[i]
	for made := range mostRehearsed {
		m := move{kind: moveTake, client: uint8(i)}
		switch n := &x.automaton.Nodes[c.node]; {
		case n.Idle && made > 0, !n.Idle && n.Slots[0].Kind != process.Request:
			return b.String(), asks
		case n.Idle:
			m.kind = moveCall
		case c.replies[0] == 0:
			m.kind = moveServe
			asks = asks || x.texts.Requests[n.Slots[0].Request].Life
		}
		if x.apply(&after, m) != nil {
			break
		}
		x.describe(&b, c)
	}
	return b.String(), asks
}

// describe writes what a client waits for, or was answered, but for numbers that may be times.
func (x *explorer) describe(b *strings.Builder, c *client) {
	b.WriteByte('0' + byte(c.phase))
	if c.replies[0] != 0 {
		for _, r := range x.texts.Replies[c.replies[0]].Replies {
			describeReply(b, r)
		}
		return
	}
	n := &x.automaton.Nodes[c.node]
	for _, sl := range n.Slots[:n.Tasks] {
		b.WriteString(x.texts.Outline(sl.Request))
	}
}

// describeReply leaves out integers that are neither yes nor no, nor say that there is no key or no end.
func describeReply(b *strings.Builder, r service.Reply) {
	switch {
	case r.Kind == service.Integer && (r.Int < -2 || r.Int > 1):
		b.WriteByte('#')
	case r.Kind == service.Array:
		for _, element := range r.List {
			describeReply(b, element)
		}
	default:
		b.Write(learn.WithoutNumbers([]byte(r.String())))
	}
}

// asked is the error of a request that the model of Redis does not know, or that the search has to be prepared for. What a real server does with
// the former is not known.
func (x *explorer) asked() error {
	switch {
	case x.servers.Unknown != nil:
		return x.automaton.Impure(x.servers.Unknown)
	case x.servers.Lives && !x.lives:
		return errLives
	case x.judge.unlimited && !x.judge.nominal:
		return errNominal
	}
	return nil
}
