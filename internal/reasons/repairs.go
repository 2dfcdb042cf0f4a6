package reasons

import (
	"fmt"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/scenarios"
)

// Repairs are the locks that stop what goes wrong, and those that only seem to.
type Repairs struct {
	// Scenarios is of how many this is said.
	Scenarios int    `json:"scenarios,omitempty"`
	Stops     []Stop `json:"stops,omitempty"` // in all of them that apply
	Best      []Stop `json:"best,omitempty"`  // where none does
	Seems     []Seem `json:"seems,omitempty"`
}

// Stop is a lock without a known bug that withstands so many of the scenarios that apply to it.
type Stop struct {
	Lock       string `json:"lock"`
	Withstands int    `json:"withstands"`
	Of         int    `json:"of"`
}

// Seem is a lock that looks like a repair and is none: it withstands the cell of the story, or shows less than the lock there, and breaks in Scenario.
type Seem struct {
	Lock     string         `json:"lock"`
	Scenario string         `json:"scenario"`
	Shows    []checker.Name `json:"shows"`
	// Here: it breaks in the story's own scenario, and shows less there.
	Here bool `json:"here,omitempty"`
}

// String is it in words.
func (s Seem) String() string {
	shows := checker.Verdict{Kind: checker.Broken}
	for _, name := range s.Shows {
		shows.Anomalies = append(shows.Anomalies, checker.Anomaly{Name: name})
	}
	if s.Here {
		return fmt.Sprintf("%s: shows less, but still %s", s.Lock, shows)
	}
	return fmt.Sprintf("%s: withstands this, but shows %s in %s", s.Lock, shows, s.Scenario)
}

// Seen is what came of a lock in a scenario of a run.
type Seen struct {
	Lock, Scenario string
	Verdict        checker.Verdict
}

// InRun are the repairs of each scenario, by what a run has seen in place of the reviewed matrix, beside the lock that shows most.
func InRun(scripts []*scenarios.Script, seen []Seen) map[string]Repairs {
	locks, verdicts := map[string][]string{}, map[[2]string]checker.Verdict{}
	for _, s := range seen {
		key := [2]string{s.Scenario, s.Lock}
		if _, twice := verdicts[key]; !twice {
			locks[s.Scenario] = append(locks[s.Scenario], s.Lock)
			verdicts[key] = s.Verdict
		}
	}
	var of []*scenarios.Script
	for _, script := range scripts {
		if len(locks[script.Name]) > 0 {
			of = append(of, script)
		}
	}
	x := NewTable(of, Source{
		Locks:   func(scenario string) []string { return locks[scenario] },
		Verdict: func(scenario, lock string) checker.Verdict { return verdicts[[2]string{scenario, lock}] },
	})
	all := map[string]Repairs{}
	worst := map[*scenarios.Script]*Cell{}
	for _, c := range x.Cells {
		if Broken(c) && (worst[c.Script] == nil || len(c.Shows) > len(worst[c.Script].Shows)) {
			worst[c.Script] = c
		}
	}
	for script, c := range worst {
		all[script.Name] = x.Repairs(c, Group{[]*scenarios.Script{script}, Broken})
	}
	return all
}
