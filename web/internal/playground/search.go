package playground

import (
	"context"
	"fmt"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
)

// Found is what came of a search.
type Found struct {
	// Choices lead to the shortest break; none: there is none.
	Choices []string       `json:"choices,omitempty"`
	Names   []checker.Name `json:"names,omitempty"`
	// Excused: it breaks no promise of the lock's card.
	Excused bool `json:"excused,omitempty"`
	// Limit is what stopped the search before it was complete; empty: nothing did.
	Limit string `json:"limit,omitempty"`
	// Within are the bounds in words, and Assumes what a claim that the lock holds rests on.
	Within  string   `json:"within"`
	Assumes []string `json:"assumes,omitempty"`
	States  int      `json:"states"`
}

// mostMemory is what a search may take of a page's memory.
const mostMemory = 1 << 30

// Search looks for the shortest break, as lab explore does: the fewest faults, then the fewest steps.
func (l *Lab) Search(ctx context.Context, s Setup) (*Found, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	if err := config.Check(); err != nil {
		return nil, err
	}
	reviewed, err := points.Reviewed()
	if err != nil {
		return nil, err
	}
	if points.Expect(reviewed, config) == points.PerCard {
		config.Excuses = points.Excuses(config.Lock.Card)
	}
	config.Memory, config.Progress = mostMemory, l.Progress
	result, err := search.Search(ctx, config)
	if err != nil {
		return nil, err
	}
	f := &Found{States: result.States, Within: within(config)}
	if shown := result.Shown(); shown != nil {
		f.Excused, f.Names = result.Found == nil, shown.Anomalies
		f.Choices, err = l.follow(s, shown)
		if err != nil || !f.Excused {
			return f, err
		}
	}
	if f.Limit = result.Limit; result.Doubt != "" {
		f.Limit = result.Doubt
	}
	if result.Vacuous() {
		f.Limit = "the lock was never held, so nothing is shown"
	}
	for _, a := range result.Assumptions() {
		f.Assumes = append(f.Assumes, a.Short)
	}
	return f, nil
}

// within are the bounds of a search in words.
func within(c search.Config) string {
	words := []string{format.Plural(c.Clients, "client", "clients"), format.Plural(c.Rounds, "round", "rounds")}
	if n := c.ServerCount(); n > 1 {
		words = append(words, format.Plural(n, "server", "servers"))
		if c.FewerServers {
			words = append(words, fmt.Sprintf("instead of the %d that its card names", c.Lock.Servers))
		}
	}
	return strings.Join(words, ", ") + ", " + strike(c)
}

// strike are the faults that may strike.
func strike(c search.Config) string {
	var kinds []string
	for _, kind := range search.Faults() {
		if c.Budget[kind] > 0 {
			kinds = append(kinds, string(kind))
		}
	}
	switch {
	case len(kinds) == 0 || c.MostFaults == 0:
		return "no fault"
	case len(kinds) == len(search.FaultsOf(c.Lock)):
		return fmt.Sprintf("up to %s of any kind", format.Plural(c.MostFaults, "fault", "faults"))
	}
	return fmt.Sprintf("up to %s of %s", format.Plural(c.MostFaults, "fault", "faults"), strings.Join(kinds, ", "))
}
