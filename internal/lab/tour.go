package lab

import (
	"fmt"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// TourRace is the cell of the tour of which the race is worth telling.
const TourRace = "setpx-lua/pause-past-lease"

// Tour is what a newcomer runs first: the locks and scenarios that tell the story of distributed locks, from the naive one to the one with
// a fencing token. situations names the scenarios in a word or two.
func Tour() (cases []Case, situations map[string]string, err error) {
	tour := []struct{ name, scenario string }{
		{"take turns", "take-turns"},
		{"crash", "holder-crashes"},
		{"pause", "pause-past-lease"},
		{"cut off", "cut-off-past-lease"},
		{"lost reply", "acquire-reply-lost"},
		{"restart", "redis-restarts-empty"},
	}
	situations = make(map[string]string)
	var names []string
	for _, t := range tour {
		names = append(names, t.scenario)
		situations[t.scenario] = t.name
	}
	scripts, err := scenarios.Builtin(names...)
	if err != nil {
		return nil, nil, err
	}
	var subjects []play.Subject
	for _, name := range []string{"setnx-del", "setpx-del", "setpx-lua", "watchdog", "redlock", "fenced"} {
		spec, ok := impls.Find(name)
		if !ok {
			return nil, nil, fmt.Errorf("the tour names the lock %q, which does not exist", name)
		}
		subjects = append(subjects, play.SubjectOf(spec))
	}
	matrix, err := scenarios.BuiltinExpected()
	return Cases(scripts, subjects, 1, Expect(matrix)), situations, err
}
