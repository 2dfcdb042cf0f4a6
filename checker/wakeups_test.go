package checker

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

// TestWakeups: whoever sends a request after a release, or has one held, has been woken; nobody twice, and not by an earlier release.
func TestWakeups(t *testing.T) {
	mine := func(value string) history.State { return history.State{Type: "znode", Value: value} }
	var events []history.Event
	command := func(client, name string, before, after history.State) {
		events = append(events, history.Event{Kind: history.KindCommand, Client: client, Detail: &history.Detail{Command: &history.Command{
			Server: "zookeeper", Args: []string{name, "/l"}, Reply: "OK", Changes: []history.Change{{Key: "/l", Before: before, After: after}},
		}}})
	}
	operation := func(client string, kind history.Kind, op history.Op, outcome history.Outcome) {
		events = append(events, history.Event{Kind: kind, Client: client, Op: op, Outcome: outcome})
	}
	for _, client := range []string{"C1", "C2", "C3"} {
		events = append(events, history.Event{Kind: history.KindOpen, Client: client, Detail: &history.Detail{Session: true}})
	}
	none, a, b := history.State{}, mine("a"), mine("b")
	operation("C1", history.KindCall, history.OpAcquire, 0)
	command("C1", "CREATE", none, a)
	operation("C1", history.KindReturn, history.OpAcquire, history.OK)
	for _, client := range []string{"C2", "C3"} {
		operation(client, history.KindCall, history.OpAcquire, 0)
		command(client, "CREATE", a, a)
		command(client, "EXISTS", a, a)
	}
	assert.Empty(t, Tally(events), "nobody was woken")
	operation("C1", history.KindCall, history.OpRelease, 0)
	command("C1", "DELETE", a, none)
	command("C2", "FIRST", none, b) // what the server does by itself is no request
	command("C2", "GETCHILDREN", b, b)
	command("C2", "EXISTS", b, b)
	assert.Equal(t, "8 requests for 1 grant; a release woke 1 waiter at most", Tally(events))
	events = append(events, history.Event{Kind: history.KindFault, Client: "C3", Detail: &history.Detail{Fault: &history.Fault{
		Name: "hold", Target: "C3", Phase: history.PhaseEffective,
	}}})
	assert.Equal(t, "8 requests for 1 grant; a release woke 2 waiters at most", Tally(events))
	operation("C2", history.KindReturn, history.OpAcquire, history.OK)
	command("C2", "DELETE", b, none)
	command("C3", "GETCHILDREN", none, none)
	assert.Equal(t, "10 requests for 2 grants; a release woke 2 waiters at most", Tally(events), "one of them by the second release")
}
