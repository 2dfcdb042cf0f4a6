package play

import (
	"context"
	"strings"

	"github.com/locklab/locklab/scenarios"
)

// whichever is the server that a step on whichever server is about: the one that has the lock now. One whose fault ends, or which restarts as saved, is the
// one where it began, or which saved, by such a step.
func (c call) whichever(ctx context.Context) (string, error) {
	step := c.step
	fault, _ := step.Fault()
	ends := string(step.Verb) == fault.Ends || step.Verb == scenarios.VerbRestartSaved
	if server := c.cell.servers.chosen[fault.Kind]; ends && server != "" {
		return server, nil
	}
	servers := c.cell.Stage.Servers()
	states, err := c.states(ctx, servers)
	if err != nil {
		return "", err
	}
	var having []string
	for i, s := range servers {
		if states[i].Exists() {
			having = append(having, s.Name())
		}
	}
	switch len(having) {
	case 0:
		return "", PremiseMissed("line %d: %q, while no server has the lock", step.Line, step.Text)
	case 1:
		c.cell.servers.chosen[fault.Kind] = having[0]
		return having[0], nil
	}
	return "", Lacking("the lock is on %s, and the script is for one that chooses one of several servers", strings.Join(having, ", "))
}
