package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Bounds of the number of servers. Their names have one digit.
const (
	minServers = 2
	maxServers = 9
)

// ServerNames are the names of n lock servers as scripts write them: S1, S2 and so on.
func ServerNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "S" + strconv.Itoa(i+1)
	}
	return names
}

// saved are the servers with a copy of their data, and with a replica that is held back; "" is the only one.
type saved map[string]copied

type copied uint8

const (
	whole    copied = iota + 1 // a copy of the data, or a held link to each replica
	heldBack                   // one replica is held back
)

// act follows the effect of a step on the copies.
func (s saved) act(step Step, servers int) error {
	names, who := step.Servers, "server"
	if len(names) == 0 {
		names = append(ServerNames(servers), "", Whichever)
	} else {
		who = subjectOf(names[0])
	}
	for _, name := range names {
		switch {
		case name == Whichever && len(names) > 1: // it is one of them
		case step.Verb == VerbRestartSaved && s[name] != whole:
			return fmt.Errorf("nothing is saved here; '%s saves' comes first", who)
		case step.Verb == VerbTakeOver && s[name] != heldBack:
			return errors.New("no replica is held back here; 'server holds back one replica' comes first")
		}
	}
	for _, name := range names {
		switch step.Verb {
		case VerbSave:
			s[name] = whole
		case VerbHoldBack:
			s[name] = heldBack
		case VerbRestart, VerbRestartSaved, VerbTakeOver, VerbSplit, VerbGoesDown:
			delete(s, name)
			delete(s, Whichever) // it may be this one
		}
	}
	return nil
}

// replicaWords say which replica takes over.
func (s Step) replicaWords() string {
	if s.HeldBack {
		return promoteHeldBack
	}
	return promoteOther
}

// servers reads the header with the number of lock servers.
func (p *parser) servers(words []string) error {
	n, err := strconv.Atoi(words[0])
	if err != nil || len(words) > 1 {
		return fmt.Errorf("%q is no number of servers; write it as 'servers 5'", strings.Join(words, " "))
	}
	if n < minServers || n > maxServers {
		return fmt.Errorf("%d servers are out of bounds; there may be %d to %d, or leave the line out for as many as the lock uses", n, minServers, maxServers)
	}
	p.script.Servers = n
	return p.clash()
}

// clash reports a client with the name of a server.
func (p *parser) clash() error {
	for _, name := range p.script.Clients {
		if slices.Contains(ServerNames(p.script.Servers), name) {
			return fmt.Errorf("a client cannot be called %q, because a server is called so; try C1", name)
		}
	}
	return nil
}

// isServer says whether the word is the name of a server that a script can have, and that no client has.
func (p *parser) isServer(word string) bool {
	return slices.Contains(ServerNames(maxServers), word) && !slices.Contains(p.script.Clients, word)
}

// known reports a server that the script does not have.
func (p *parser) known(server string) error {
	switch {
	case slices.Contains(ServerNames(p.script.Servers), server):
		return nil
	case !slices.Contains(ServerNames(maxServers), server):
		return fmt.Errorf("%q is no server; servers are called S1, S2 and so on", server)
	case p.script.Servers == 0:
		return fmt.Errorf("which server %s is depends on the lock; say how many there are by a line such as 'servers 5' before the first step", server)
	}
	return fmt.Errorf("there is no server %s; with 'servers %d' they are called S1 to S%d", server, p.script.Servers, p.script.Servers)
}

// serverVerb reads a verb of one server.
func (p *parser) serverVerb(step *Step, r *reader) error {
	name := r.next()
	if err := p.known(name); err != nil {
		return err
	}
	if r.done() {
		return fmt.Errorf("%s does nothing; add what happens to it, such as 'restarts empty'", name)
	}
	return p.ofServer(step, name, r)
}

// ofServer reads what happens to a server.
func (p *parser) ofServer(step *Step, name string, r *reader) error {
	step.Servers = []string{name}
	found, ok := takePhrase(r, serverPhrases())
	if !ok {
		return unknownWord("fault of a server", strings.Join(r.words, " "), spellings(serverPhrases()))
	}
	step.Verb = found.verb
	return p.argument(step, r)
}

// towards is the word before the servers of a link fault, or ""; ok is false for other verbs.
func towards(verb Verb) (word string, ok bool) {
	f, _ := faults.BegunBy(string(verb))
	return f.Toward, ofLink(verb)
}

// takeServers reads the servers of a link fault; none: it hits the links to all.
func (p *parser) takeServers(step *Step, r *reader) error {
	word, ok := towards(step.Verb)
	if !ok || r.done() || word != "" && !r.accept(word) {
		return nil
	}
	if r.done() {
		return fmt.Errorf("%q of which server? Write '%s S5', or leave %q out for all of them", word, word, word)
	}
	for !r.done() {
		name := r.next()
		if err := p.known(name); err != nil {
			return err
		}
		if slices.Contains(step.Servers, name) {
			return fmt.Errorf("server %q is named twice", name)
		}
		step.Servers = append(step.Servers, name)
	}
	return nil
}

// breakpointServers checks the servers of breakpoints.
func (p *parser) breakpointServers(step *Step) error {
	for _, at := range step.Breakpoints {
		if at.Server == "" {
			continue
		}
		if step.Op == history.OpWork {
			return errors.New("work goes to the resource, which is none of the lock's servers; remove 'on " + at.Server + "'")
		}
		if err := p.known(at.Server); err != nil {
			return err
		}
	}
	return nil
}

// serverWords are the servers of a link fault as scripts write them.
func (s Step) serverWords() string {
	word, _ := towards(s.Verb)
	return strings.TrimSpace(word + " " + strings.Join(s.Servers, " "))
}

// Subject is the first word of a step: a client, one of several servers, or "" for the lab.
func (s Step) Subject() string {
	if s.Client == "" && len(s.Servers) > 0 && !s.OnWhichever() {
		return s.Servers[0]
	}
	return s.Client
}
