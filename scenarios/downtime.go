package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/locklab/locklab/history"
)

// downtime follows which servers of a script are down.
type downtime struct {
	servers []string // "" is the only one
	actors  []*actor
	since   map[string]int // the line on which a server went down
	apart   map[string]int // the line on which it was cut off from the others
}

func newDowntime(s *Script, actors map[string]*actor) *downtime {
	d := &downtime{servers: ServerNames(s.Servers), since: map[string]int{}, apart: map[string]int{}}
	if s.Servers == 0 {
		d.servers = []string{""}
	}
	for _, name := range s.Actors() {
		d.actors = append(d.actors, actors[name])
	}
	return d
}

// act follows the effect of a step on the servers that are down, and says why it cannot be.
func (d *downtime) act(step Step) error {
	names := step.Servers
	if len(names) == 0 {
		names = d.servers
	}
	switch step.Verb {
	case VerbGoesDown:
		return cmp.Or(d.notApart(names), d.goDown(names, step.Line))
	case VerbSplit, VerbDemote:
		return cmp.Or(d.notDown(names), d.breakAll(names))
	case VerbComesBack:
		return d.comeBack(names)
	case VerbIsolate:
		return cmp.Or(d.notDown(names), d.isolate(names[0], step.Line))
	case VerbRejoin:
		if d.apart[names[0]] == 0 {
			return fmt.Errorf("%s is not cut off from the others", names[0])
		}
		delete(d.apart, names[0])
		return nil
	case VerbWaitExpired, VerbWaitFreed, VerbWaitRenewed, VerbArrives:
		return d.notDown(names)
	}
	if ofServer(step.Verb) {
		return d.notDown(names)
	}
	return nil
}

// notDown says that one of the servers is down.
func (d *downtime) notDown(names []string) error {
	if slices.Contains(names, Whichever) { // which may be any of them
		names = d.servers
	}
	for _, name := range slices.Concat(names, []string{Whichever}) { // which may be one of them
		if line := d.since[name]; line > 0 {
			return downError(name, line)
		}
	}
	return nil
}

func (d *downtime) goDown(names []string, line int) error {
	if err := d.notDown(names); err != nil {
		return err
	}
	if err := d.breakAll(names); err != nil {
		return err
	}
	for _, name := range names {
		d.since[name] = line
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

func (d *downtime) comeBack(names []string) error {
	for _, name := range names {
		if d.since[name] == 0 {
			return fmt.Errorf("%s is not down", called(name))
		}
	}
	for _, name := range names {
		delete(d.since, name)
	}
	return nil
}

// notApart says that one of the servers is cut off from the others.
func (d *downtime) notApart(names []string) error {
	for _, name := range names {
		if line := d.apart[name]; line > 0 {
			return fmt.Errorf("%s has been cut off since line %d; '%[1]s rejoins' comes first", name, line)
		}
	}
	return nil
}

// isolate follows that a server is cut off from the others. One at a time is: of three, one that is left alone decides nothing.
func (d *downtime) isolate(name string, line int) error {
	for other, since := range d.apart {
		return fmt.Errorf("%s has been cut off since line %d; '%[1]s rejoins' comes first", other, since)
	}
	d.apart[name] = line
	return nil
}

// end complains about servers that stay down, or cut off.
func (d *downtime) end(wrong *complaints) {
	for _, name := range slices.Concat(d.servers, []string{Whichever}) {
		if line := d.since[name]; line > 0 {
			wrong.add(line, "%s is still down at the end; add '%s comes back'", called(name), subjectOf(name))
		}
	}
	for name, line := range d.apart {
		wrong.add(line, "%s is still cut off from the others at the end; add '%[1]s rejoins'", name)
	}
}
