package scenarios

import (
	"errors"
	"fmt"
	"slices"
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

// split follows whether two primaries answer. It is the line since when; zero: one does.
type split struct{ line int }

// check says why a step cannot be.
func (s *split) check(step Step) error {
	switch {
	case step.Verb == VerbDemote && s.line == 0:
		return errors.New("there is no old primary; 'server fails over without C1' comes first")
	case s.line > 0 && ofServer(step.Verb):
		return fmt.Errorf("two primaries have answered since line %d; 'server demotes the old primary' comes first", s.line)
	}
	return nil
}

// follow follows the effect of a step that can be.
func (s *split) follow(step Step) {
	switch step.Verb {
	case VerbSplit:
		s.line = step.Line
	case VerbDemote:
		s.line = 0
	}
}

// ofServer says whether a verb is about a server, or about the links to it.
func ofServer(v Verb) bool {
	switch v {
	case VerbServerJump, VerbOperator, VerbSave, VerbRestart, VerbRestartSaved, VerbHoldBack, VerbTakeOver, VerbSplit, VerbRequireReplica,
		VerbWaitRefused, VerbGoesDown, VerbCutOff, VerbRefuse, VerbDelay, VerbLoseReplies, VerbHeal:
		return true
	}
	return false
}
