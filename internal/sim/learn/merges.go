package learn

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
)

// Two histories of a client lead to the same node if its lock declares to keep the same after both, and an operation leads back to the node where it was
// called if it has changed nothing. So when a search has ended, fresh instances walk long ways through the automaton, over nodes where histories were merged,
// and have to do at each step what the automaton says.

const (
	walks         = 24
	walkSteps     = 60
	mostWitnesses = 6 // of a node
)

// errForgets is of a lock that declares too little.
var errForgets = errors.New("after equal States it did not do the same: its State does not say all that it keeps, or it goes by chance")

// witness is what an instance did at a node.
type witness struct {
	in     Input
	when   circumstances
	to     uint32
	output uint32
}

// witness notes what an instance does at a node: for each input the first.
func (a *Automaton) witness(at uint32, w witness) {
	known := a.evidence.witnesses[at]
	if len(known) < mostWitnesses && !slices.ContainsFunc(known, func(other witness) bool { return other.in == w.in }) {
		a.evidence.witnesses[at] = append(known, w)
	}
}

// changedNothing says whether the operation by which an instance has come to a node has left all as it was, though background tasks live, whose own
// memory is not seen. It is not asked where one listens: what that does at one contact it is taken to do at each; see listensOn.
func (a *Automaton) changedNothing(n *Node, s *instance) bool {
	if s.atCall == nil || n.Listens || a.Manner.Plain || a.Manner.Ordered && n.Tokens != a.Nodes[n.called].Tokens {
		return false
	}
	now, ok := s.Process.Beside()
	return ok && bytes.Equal(s.atCall, now)
}

// Verify walks through the automaton.
func (a *Automaton) Verify() error {
	if a.evidence.verified == len(a.Nodes) {
		return nil
	}
	a.evidence.verified = len(a.Nodes)
	chance := rand.New(rand.NewPCG(1, uint64(len(a.Nodes))))
	for n := range walks {
		s := a.NewInstance(n % a.clients)
		err := a.walk(s, chance)
		s.Process.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// walk goes a random way.
func (a *Automaton) walk(s *instance, chance *rand.Rand) error {
	for range walkSteps {
		known := a.evidence.witnesses[s.at]
		if len(known) == 0 {
			return nil
		}
		if err := a.doesTheSame(s, known[chance.IntN(len(known))]); err != nil {
			return err
		}
	}
	return nil
}

// doesTheSame says, by its error, whether an instance does what another one did at its node, and takes it to the next.
func (a *Automaton) doesTheSame(s *instance, w witness) error {
	a.running.begins()
	defer a.running.ends()
	notices, err := a.execute(s, w.in, w.when)
	if err != nil {
		return a.Impure(err)
	}
	met, err := a.describe(s)
	if err != nil {
		return err
	}
	if want := a.Nodes[w.to]; met.Slots != want.Slots || met.Idle != want.Idle || a.Outputs.outputNumber(notices) != w.output {
		return a.Impure(errForgets)
	}
	s.at = w.to
	return nil
}
