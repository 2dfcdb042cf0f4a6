package explore

import (
	"bytes"
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// Two histories of a client lead to the same node if its lock remembers the same after both, and an operation leads back to the node where it was called if
// it has changed nothing. A lock may remember something where nobody can look, such as in a variable of its package. So when a search has ended, fresh
// instances walk long ways through the automaton, over nodes where histories were merged, and have to do at each step what the automaton says.

const (
	walks         = 24
	walkSteps     = 60
	mostWitnesses = 6 // of a node
)

// errOpaque: a lock looks into its tokens, or keeps them in a form in which they are not recognized. The search begins again, gives every
// token once, and tells clients apart.
var errOpaque = errors.New("the lock does something else if its tokens have other names")

// errForgets: what a lock does depends on something that it was not seen to remember. The search begins again without merging.
var errForgets = errors.New("the lock does not always do the same with the same memory")

// witness is what an instance did at a node.
type witness struct {
	in     input
	when   circumstances
	to     uint32
	output uint32
}

// witness notes what an instance does at a node: for each input the first.
func (a *automaton) witness(at uint32, w witness) {
	known := a.witnesses[at]
	if len(known) < mostWitnesses && !slices.ContainsFunc(known, func(other witness) bool { return other.in == w.in }) {
		a.witnesses[at] = append(known, w)
	}
}

// changedNothing says whether the operation by which an instance has come to a node has left all as it was, though background tasks live, whose own
// memory is not seen. It is not asked where one listens: what that does at one contact it is taken to do at each; see listensOn.
func (a *automaton) changedNothing(n *node, s *instance) bool {
	if s.atCall == nil || n.listens || a.plain || a.forgets || a.opaque && n.tokens != a.nodes[n.called].tokens {
		return false
	}
	now, ok := s.process.Beside()
	return ok && bytes.Equal(s.atCall, now)
}

// noteLedBack notes a try that has led back to where it was called. It is the latest execution, and has come to a node by a description.
func (a *automaton) noteLedBack(n *node, to uint32, notices []process.Notice) {
	tried := func(n process.Notice) bool { return n.Kind == process.Returned && n.Op == history.OpAcquire }
	if to == n.called && n.idle && slices.ContainsFunc(notices, tried) {
		a.ledBack = append(a.ledBack, uint32(len(a.taken)-1))
	}
}

// verify walks through the automaton, half of the ways with other names for all tokens.
func (a *automaton) verify() error {
	if a.verified == len(a.nodes) {
		return nil
	}
	a.verified = len(a.nodes)
	chance := rand.New(rand.NewPCG(1, uint64(len(a.nodes))))
	for n := range walks {
		s := a.newInstance(n % a.clients)
		if !a.opaque && n%2 == 1 {
			s.host.rename = otherTokens
		}
		walked, err := a.walk(s, chance)
		s.process.Close()
		if err == errOpaque {
			err = cmp.Or(a.walkAgain(n%a.clients, walked), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walk goes a random way, and returns it as far as it has come.
func (a *automaton) walk(s *instance, chance *rand.Rand) (walked []witness, err error) {
	for range walkSteps {
		known := a.witnesses[s.at]
		if len(known) == 0 {
			return walked, nil
		}
		step := known[chance.IntN(len(known))]
		walked = append(walked, step)
		if err := a.doesTheSame(s, step); err != nil {
			return walked, err
		}
	}
	return walked, nil
}

// walkAgain goes a way with the usual names for tokens. If something else happens then, too, they are not to blame.
func (a *automaton) walkAgain(client int, way []witness) error {
	s := a.newInstance(client)
	defer s.process.Close()
	for _, step := range way {
		if err := a.doesTheSame(s, step); err != nil {
			return err
		}
	}
	return nil
}

// doesTheSame says, by its error, whether an instance does what another one did at its node, and takes it to the next.
func (a *automaton) doesTheSame(s *instance, w witness) error {
	a.executing.Store(int64(time.Since(a.born)))
	defer a.executing.Store(0)
	in := w.in
	if s.host.rename != nil && in.kind == inputReply {
		in.arg = a.texts.reply(renameReplies(a.texts.replies[in.arg].replies, otherTokens))
	}
	notices, err := a.execute(s, in, w.when)
	if err != nil {
		return a.impure(err)
	}
	met, err := a.describe(s)
	if err != nil {
		return err
	}
	want := a.nodes[w.to]
	if s.host.rename != nil {
		for k, sl := range want.slots[:want.tasks] {
			want.slots[k].request = a.texts.otherRequest(sl.request)
		}
	}
	switch same := met.slots == want.slots && met.idle == want.idle && a.outputNumber(notices) == w.output; {
	case same:
		s.at = w.to
		return nil
	case s.host.rename != nil:
		return errOpaque
	}
	return errForgets
}
