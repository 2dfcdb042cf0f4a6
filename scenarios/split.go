package scenarios

import (
	"errors"
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
)

// without reads the clients that stay with the old primary.
func (p *parser) without(step *Step, r *reader) error {
	if r.done() {
		return errors.New("without which clients? Write 'server fails over without C1'")
	}
	for !r.done() {
		name := r.next()
		switch {
		case !slices.Contains(p.script.Clients, name):
			return unknownWord("client", name, p.script.Clients)
		case slices.Contains(step.Without, name):
			return fmt.Errorf("client %q is named twice", name)
		}
		step.Without = append(step.Without, name)
	}
	if len(step.Without) == len(p.script.Clients) {
		return errors.New("some client must be on the side of the new primary")
	}
	return nil
}

// interlude is a fault of the server that some verbs begin and another ends; in between no other step is about the server.
type interlude struct {
	begins []Verb
	ends   Verb
	early  string // why it cannot end before it has begun
	open   string // what has been so since a line; why another step cannot be
	line   int    // on which it began; zero: it has not, or has ended
}

// interludes are those of a script.
type interludes []*interlude

func newInterludes() interludes {
	return interludes{
		{begins: []Verb{VerbSplit}, ends: VerbDemote, early: "there is no old primary; 'server fails over without C1' comes first",
			open: "two primaries have answered since line %d; 'server demotes the old primary' comes first"},
		{begins: []Verb{VerbMigrate, VerbMigrateLock}, ends: VerbMigrated, early: "no slot migrates; 'server migrates the slot' comes first",
			open: "the slot has migrated since line %d; 'server has migrated the slot' comes first"},
	}
}

// check says why a step cannot be.
func (all interludes) check(step Step) error {
	for _, one := range all {
		switch {
		case step.Verb == one.ends && one.line == 0:
			return errors.New(one.early)
		case one.line > 0 && ofServer(step.Verb):
			return fmt.Errorf(one.open, one.line)
		}
	}
	return nil
}

// follow follows the effect of a step that can be.
func (all interludes) follow(step Step) {
	for _, one := range all {
		switch {
		case slices.Contains(one.begins, step.Verb):
			one.line = step.Line
		case step.Verb == one.ends:
			one.line = 0
		}
	}
}

// ofServer says whether a verb is about a server, or about the links to it.
func ofServer(v Verb) bool {
	f, _ := faults.SpokenOf(string(v))
	return f.Target == faults.OnServer && string(v) != f.Ends || ofLink(v)
}
