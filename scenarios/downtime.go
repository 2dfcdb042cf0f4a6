package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// downtime follows which servers of a script have a fault that lasts.
type downtime struct {
	servers []string // "" is the only one
	actors  []*actor
	since   map[effect]int // the line on which a fault began
}

// effect is a fault of a server.
type effect struct {
	kind   faults.Kind
	server string
}

func newDowntime(s *Script, actors map[string]*actor) *downtime {
	d := &downtime{servers: ServerNames(s.Servers), since: map[effect]int{}}
	if s.Servers == 0 {
		d.servers = []string{""}
	}
	for _, name := range s.Actors() {
		d.actors = append(d.actors, actors[name])
	}
	return d
}

// act follows the effect of a step on the servers, and says why it cannot be.
func (d *downtime) act(step Step) error {
	names := step.Servers
	if len(names) == 0 {
		names = d.servers
	}
	fault, _ := faults.SpokenOf(string(step.Verb))
	begins, ends := step.Verb == Verb(fault.Begins), step.Verb == Verb(fault.Ends)
	switch {
	case step.Verb == VerbSplit || step.Verb == VerbDemote: // an interlude
		return cmp.Or(d.without(faults.Down, names), d.breakAll(names))
	case lasts(fault) && ends:
		return d.end(fault, names)
	case lasts(fault) && begins:
		return cmp.Or(d.without(faults.Down, names), d.begin(fault, names, step.Line))
	case ofServer(step.Verb) || slices.Contains([]Verb{VerbWaitExpired, VerbWaitFreed, VerbWaitRenewed, VerbArrives}, step.Verb):
		return d.without(faults.Down, names)
	}
	return nil
}

// lasts says whether a fault of a server goes on, beside other steps, until a step ends it.
func lasts(f faults.Fault) bool {
	return f.Target == faults.OnServer && f.Ends != "" && f.Kind != faults.SplitBrain && f.Kind != faults.SlotMigration
}

// without says that one of the servers has a fault.
func (d *downtime) without(kind faults.Kind, names []string) error {
	if slices.Contains(names, Whichever) { // which may be any of them
		names = d.servers
	}
	for _, name := range slices.Concat(names, []string{Whichever}) { // which may be one of them
		if line := d.since[effect{kind, name}]; line > 0 {
			return fmt.Errorf("%s has been %s since line %d; '%s %s' comes first", called(name), kind.Of().State, line, subjectOf(name), kind.Of().Ends)
		}
	}
	return nil
}

func (d *downtime) begin(f faults.Fault, names []string, line int) error {
	free := names
	if f.Kind == faults.Isolated {
		free = d.servers // one at a time is: of three, one that is left alone decides nothing
	}
	if err := d.without(f.Kind, free); err != nil {
		return err
	}
	if f.Kind == faults.Down {
		if err := cmp.Or(d.without(faults.Isolated, names), d.breakAll(names)); err != nil {
			return err
		}
	}
	for _, name := range names {
		d.since[effect{f.Kind, name}] = line
	}
	return nil
}

// end follows that a fault ends.
func (d *downtime) end(f faults.Fault, names []string) error {
	for _, name := range names {
		if d.since[effect{f.Kind, name}] == 0 {
			return fmt.Errorf("%s is not %s", called(name), f.State)
		}
	}
	for _, name := range names {
		delete(d.since, effect{f.Kind, name})
	}
	return nil
}

// breakAll breaks the connections of all clients to the servers, unless something is in the way.
func (d *downtime) breakAll(names []string) error {
	for _, a := range d.actors {
		if err := a.spared(names); err != nil {
			return err
		}
	}
	for _, a := range d.actors {
		a.host.breaks++
	}
	return nil
}

// spared says why the servers cannot break their connections: something of a client would be in the way, or never arrive.
func (a *actor) spared(servers []string) error {
	for _, l := range a.host.links {
		if l.line > 0 && (slices.Contains(servers, l.server) || slices.Contains(servers, Whichever)) {
			return fmt.Errorf("%s's link has had a fault since line %d; '%[1]s heal' comes first", a.host.name, l.line)
		}
	}
	atWork := a.pending != nil && a.pending.Op == history.OpWork // which goes to the resource
	switch {
	case a.late > 0 && a.host.crashed == 0:
		return fmt.Errorf("something of %s is held that would never arrive; '%[1]s arrives late' comes first", a.name)
	case a.held && !atWork, a.unseen && len(a.ahead) > 0 && !atWork:
		return fmt.Errorf("something of %s is held that would never arrive; '%[1]s continue' comes first", a.name)
	}
	return nil
}

// left complains about faults that go on at the end.
func (d *downtime) left(wrong *complaints) {
	for at, line := range d.since {
		if f := at.kind.Of(); !f.Mild {
			wrong.add(line, "%s is still %s at the end; add '%s %s'", called(at.server), f.State, subjectOf(at.server), f.Ends)
		}
	}
}
