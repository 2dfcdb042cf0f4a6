//go:build linux || darwin

package live_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/verbs"
)

// tells asserts that the lines occur in the story in this order; others may stand between them.
func tells(t *testing.T, events []history.Event, lines ...string) {
	t.Helper()
	told := verbs.Story(events)
	missing := verbs.Missing(told, lines...)
	assert.Empty(t, missing, "it is missing, or stands too early, in\n%s", strings.Join(told, "\n"))
}

// faultsAreEvident asserts that each fault was injected before it took effect, took effect before it was taken back, and says how
// that was seen. A breakpoint is armed with its operation, so it has only an effect.
func faultsAreEvident(t *testing.T, events []history.Event) {
	t.Helper()
	traps := []string{"hold", "hold-reply", "duplicate", "hold-copy"}
	held := map[string]int{} // a client can have something late beside what its operation is held by
	last := map[string]history.Phase{}
	for _, e := range events {
		if e.Kind != history.KindFault {
			continue
		}
		f := e.Detail.Fault
		assert.NotEmpty(t, f.What, "%s of %s: %s", f.Name, f.Target, f.Phase)
		for _, server := range serversOf(f) {
			what := f.Target + " " + f.Name + server
			switch f.Phase {
			case history.PhaseEffective:
				// Replies are lost on a link, or at a breakpoint.
				if !slices.Contains(traps, f.Name) && f.Name != "reply-lost" {
					assert.Equal(t, history.PhaseInject, last[what], what)
				}
				held[what]++
			case history.PhaseRecover:
				if !slices.Contains(traps, f.Name) {
					assert.Equal(t, history.PhaseEffective, last[what], what)
				}
				held[what]--
				assert.GreaterOrEqual(t, held[what], 0, what)
			}
			last[what] = f.Phase
		}
	}
	for what, phase := range last {
		assert.NotEqual(t, history.PhaseInject, phase, "%s was never seen to take effect", what)
	}
}

var toServers = regexp.MustCompile(`\bto (S\d(?:, S\d)*): `)

// serversOf names the servers, to which the links are that a fault befell; where there is only one, it is not named.
func serversOf(f *history.Fault) (names []string) {
	for _, some := range toServers.FindAllStringSubmatch(f.What, -1) {
		for name := range strings.SplitSeq(some[1], ", ") {
			if !slices.Contains(names, " to "+name) { // a process may have several links there
				names = append(names, " to "+name)
			}
		}
	}
	if names == nil {
		return []string{""}
	}
	return names
}
