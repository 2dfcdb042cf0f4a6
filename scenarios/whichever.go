package scenarios

import (
	"errors"
	"slices"
	"strings"
)

// Whichever stands for the server that has the lock when the step is carried out, for locks that choose one of several.
const Whichever = "whichever server"

// onWhichever reads a verb of whichever server.
func (p *parser) onWhichever(step *Step, r *reader) error {
	if !r.accept("on " + Whichever) {
		return unknownWord("step", strings.Join(r.words, " "), []string{"on " + Whichever})
	}
	if r.done() {
		return errors.New("'on whichever server' does nothing; add what happens there, such as 'restarts empty'")
	}
	return p.ofServer(step, Whichever, r)
}

// OnWhichever says whether the step is one of whichever server.
func (s Step) OnWhichever() bool {
	return s.Client == "" && len(s.Servers) == 1 && s.Servers[0] == Whichever
}

// OnWhichever says whether a step of the script is on whichever server has the lock.
func (s *Script) OnWhichever() bool { return slices.ContainsFunc(s.Steps, Step.OnWhichever) }

// subjectOf is a server as the subject of a step: "S1", "server", "on whichever server".
func subjectOf(server string) string {
	switch server {
	case "":
		return "server"
	case Whichever:
		return "on " + Whichever
	}
	return server
}

// called is a server as errors name it.
func called(server string) string {
	if server == Whichever {
		return "the server that has the lock"
	}
	return subjectOf(server)
}
