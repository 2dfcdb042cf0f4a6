package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/cells"
)

// pause stops the process: whatever comes in waits until it goes on.
func (cl *client) pause() {
	cl.cell.fault(cells.FaultPause, cl.name, history.PhaseInject, "the process is to stop")
	cl.paused = true
	cl.cell.fault(cells.FaultPause, cl.name, history.PhaseEffective, "the process is stopped")
}

// unpause lets the process go on, with what has come in meanwhile.
func (cl *client) unpause() {
	cl.paused = false
	cl.cell.fault(cells.FaultPause, cl.name, history.PhaseRecover, "the process goes on")
	missed := cl.missed
	cl.missed = nil
	for _, what := range missed {
		cl.hand(what)
	}
}

// crash ends the process, and its connections.
func (cl *client) crash() {
	c := cl.cell
	c.fault(cells.FaultCrash, cl.name, history.PhaseInject, "the process is to end")
	cl.dead = true
	for _, m := range cl.members {
		for _, l := range slices.Concat(m.links, []*link{m.resourceLink}) {
			for _, number := range slices.Sorted(maps.Keys(l.conns)) {
				l.hangUp(number)
			}
		}
		c.rec.Add(history.Event{Kind: history.KindExit, Client: m.name, Detail: &history.Detail{Why: "killed by the script"}})
	}
	c.fault(cells.FaultCrash, cl.name, history.PhaseEffective, "the process is gone")
	for _, m := range cl.members {
		m.vanish()
	}
}

// vanish notes that the client is there no more.
func (cl *client) vanish() {
	cl.Vanish()
	cl.pending = nil
}

// loseThread ends the one thread that uses this lock of the process. What runs beside it in the process goes on.
func (cl *client) loseThread() {
	cl.cell.fault(cells.FaultThread, cl.name, history.PhaseInject, "an exception")
	cl.cell.fault(cells.FaultThread, cl.name, history.PhaseEffective, "nobody in the process uses the lock any more")
	cl.vanish()
	cl.cell.rec.Add(history.Event{Kind: history.KindExit, Client: cl.name, Detail: &history.Detail{Why: cells.ThreadDied}})
}

// setClock sets the client's clock: ahead or behind by offset, or running at another rate.
func (cl *client) setClock(offset time.Duration, rate float64) {
	if rate == 0 {
		rate = 1
	}
	what := fmt.Sprintf("offset %v, rate %g", offset, rate)
	cl.cell.fault(cells.FaultSkew, cl.name, history.PhaseInject, what)
	cl.skew(offset, rate)
	cl.cell.fault(cells.FaultSkew, cl.name, history.PhaseEffective, what)
}

// disturb injects a fault into the links of the client's process to the lock servers that are named.
func (cl *client) disturb(fault linkFault, names []string) {
	what := cl.about(cl.cell.named(names), fault.what)
	cl.cell.fault(fault.name, cl.name, history.PhaseInject, what)
	for _, s := range cl.cell.named(names) {
		for _, l := range cl.linksTo(s) {
			l.inject(cl.cell, fault)
		}
	}
	cl.cell.fault(fault.name, cl.name, history.PhaseEffective, what)
}

// heal makes the links of the client's process whole again.
func (cl *client) heal(names []string) error {
	var faults []string
	healed := make(map[string][]*server) // by fault
	for _, s := range cl.cell.named(names) {
		for _, l := range cl.linksTo(s) {
			if l.fault == nil {
				continue
			}
			name := l.fault.name
			if healed[name] == nil {
				faults = append(faults, name)
			}
			healed[name] = append(healed[name], s)
			l.heal(cl.cell)
		}
	}
	if len(faults) == 0 {
		return cells.Undecided("the link of %s is whole", cl.name)
	}
	for _, name := range faults {
		cl.cell.fault(name, cl.name, history.PhaseRecover, cl.about(slices.Compact(healed[name]), "the link is whole"))
	}
	return nil
}

// about says to which of several servers the links are that something is said of.
func (cl *client) about(servers []*server, what string) string {
	if len(cl.cell.servers) == 1 {
		return what
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.name)
	}
	return "to " + strings.Join(names, ", ") + ": " + what
}

// jumpClock lets time leap on the named servers, or on all, where there must be a lock.
func (c *cell) jumpClock(names []string, d time.Duration) error {
	servers := c.named(names)
	if c.states(servers).Locked() == 0 {
		return cells.Undecided("the server's clock would jump while there is no lock on the server")
	}
	for _, s := range servers {
		c.fault(cells.FaultJump, s.name, history.PhaseInject, d.String())
		s.jump(d)
		c.fault(cells.FaultJump, s.name, history.PhaseEffective, fmt.Sprintf("all that expires does so %v earlier", d))
	}
	return nil
}

// restart restarts the named servers, or all. All connections to them break.
func (c *cell) restart(names []string, restart func(*server), how, evidence string) {
	for _, s := range c.named(names) {
		c.fault(cells.FaultRestart, s.name, history.PhaseInject, how)
		restart(s)
		for _, p := range c.peers {
			for _, l := range p.linksTo(s) {
				l.breakAll(c)
			}
		}
		c.fault(cells.FaultRestart, s.name, history.PhaseEffective, evidence)
	}
}

// limitLock sets the expiry of the lock by hand, on every server, as an operator does who takes it for one that was left behind.
func (c *cell) limitLock(d time.Duration) error {
	for _, s := range c.servers {
		c.fault(cells.FaultLimit, s.name, history.PhaseInject, "limits the lock to "+d.String())
		if s.model.Do(labConn, "PEXPIRE", c.lockKey, fmt.Sprint(d.Milliseconds())).Int == 0 {
			return cells.Undecided("an operator would limit the lock while there is none on the server")
		}
		c.fault(cells.FaultLimit, s.name, history.PhaseEffective, "the lock ends in "+d.String())
	}
	return nil
}
