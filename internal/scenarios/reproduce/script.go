package reproduce

import (
	"fmt"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// script is a script as far as it is written.
type script struct{ *scenarios.Script }

// actor is a client of a script, and how it is there.
type actor struct {
	name       string
	host       *host
	open       *opened       // the operation under way
	late       []*trace.Step // requests that it has given up, and copies, the latest last
	unsent     []*trace.Step // what it has given up while it was cut off, which its library sends later
	renewing   bool          // a renewal is held up
	lateBeside bool          // what runs beside its operations is late
	cut        bool          // its requests are cut off, since that is late beside an operation that is held
	clock      float64       // by how many leases its clock is wrong
}

// host is a process of a script, with all its clients.
type host struct {
	actors       []*actor
	paused, dead bool
	apart        bool // it is cut off from its ZooKeeper
}

// actorsOf are the clients of a trace. Those of one process have the names that the history has for them.
func actorsOf(t *trace.Trace) []*actor {
	all := make([]*actor, t.Clients)
	for who := range all {
		all[who] = &actor{name: fmt.Sprintf("C%d", who+1), host: &host{}}
		if first := processOf(t, who); first != who {
			all[who].host = all[first].host
		}
		if t.Names != nil {
			all[who].name = t.Names[who]
		}
		all[who].host.actors = append(all[who].host.actors, all[who])
	}
	return all
}

// stopped says whether an operation of the client is held.
func (a *actor) stopped() bool { return a.open != nil && a.open.stop }

// lab adds a step of no client.
func (s script) lab(step scenarios.Step) { s.Steps = append(s.Steps, step) }

// step adds a step of a client, or of its process.
func (s script) step(a *actor, step scenarios.Step) {
	step.Client = a.name
	if scenarios.OfProcess(step.Verb) {
		step.Client = history.ProcessOf(step.Client)
	}
	s.lab(step)
}

// does adds a step that is its verb alone.
func (s script) does(a *actor, verb scenarios.Verb) { s.step(a, scenarios.Step{Verb: verb}) }

func (s script) pause(a *actor) {
	if !a.host.paused {
		a.host.paused = true
		s.does(a, scenarios.VerbPause)
	}
}

// resume resumes a client that is paused.
func (s script) resume(a *actor) {
	if a.host.paused {
		a.host.paused = false
		s.does(a, scenarios.VerbResume)
	}
}

// heal ends a partition.
func (s script) heal(a *actor) {
	if a.host.apart {
		a.host.apart = false
		s.does(a, scenarios.VerbHeal)
	}
}

// crash kills a process with all its clients.
func (s script) crash(h *host) {
	if h.dead {
		return
	}
	s.does(h.actors[0], scenarios.VerbCrash)
	h.dead, h.paused, h.apart = true, false, false
	for _, a := range h.actors {
		a.open = nil
	}
}

// giveUp has a client give its operation up.
func (s script) giveUp(a *actor) {
	s.step(a, scenarios.Step{Verb: scenarios.VerbGiveUp, Want: []scenarios.Result{scenarios.ResultUnknown}})
	a.open.stop = false
}

// goOn lets an operation go on that is held up, or awaits it where its client can read the reply only now.
func (s script) goOn(a *actor) {
	verb := scenarios.VerbContinue
	if a.open.unread {
		verb, a.open.unread = scenarios.VerbAwait, false
	}
	s.does(a, verb)
}

// reconnect has a client lose the replies of some servers, with its connections.
func (s script) reconnect(a *actor, servers []string) {
	s.step(a, scenarios.Step{Verb: scenarios.VerbLoseReplies, Servers: servers})
	s.step(a, scenarios.Step{Verb: scenarios.VerbHeal, Servers: servers})
}

// setClock sets a client's clock: scripts say by how much it is then wrong.
func (s script) setClock(a *actor, leases float64) {
	a.clock = leases
	s.step(a, scenarios.Step{Verb: scenarios.VerbClock, Span: scenarios.Span{Leases: leases}, Rate: 1})
}

// arriveBeside lets go what has been held beside the operations of a client.
func (s script) arriveBeside(a *actor) {
	s.resume(a)
	if a.cut {
		a.cut = false
		s.does(a, scenarios.VerbHeal)
		return
	}
	a.lateBeside = false
	s.does(a, scenarios.VerbContinue)
}

// names are the names of the servers, where there are several.
func (s script) names() []string { return scenarios.ServerNames(s.Servers) }

// server is a server by its name, where there are several.
func (s script) server(n int) []string {
	if s.Servers == 0 || n < 0 {
		return nil
	}
	return s.names()[n : n+1]
}

// breakpoint is one at the request of a step.
func (s script) breakpoint(do faults.Action, at *trace.Step) faults.Breakpoint {
	return breakpoint(do, []*trace.Step{at}, s.names())
}
