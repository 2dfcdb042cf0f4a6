package lab_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// With a lock alone, a plan has the bounds that lab explore has without a flag.
func TestExplore(t *testing.T) {
	lock, _ := impls.Find("setpx-del")
	explored, err := lab.Explore(t.Context(), lab.ExplorePlan{Lock: lock})
	require.NoError(t, err)
	assert.Equal(t, lab.AsExpected, explored.Outcome())
	assert.Equal(t, points.MustBreak, explored.Expected)
	assert.Len(t, explored.Found.Faults, 1)
	assert.Equal(t, 3, explored.Config.Clients)

	explored, err = lab.Explore(t.Context(), lab.ExplorePlan{Lock: lock, Clients: 2, Budget: search.Budget{}})
	require.NoError(t, err)
	assert.Nil(t, explored.Found, "without a fault")
	assert.Equal(t, points.MustHold, explored.Expected)

	config, err := lab.ExplorePlan{Lock: lock, Budget: search.Budget{faults.Pause: 1, faults.Crash: 2}}.Config()
	require.NoError(t, err)
	assert.Equal(t, 3, config.MostFaults, "as many as the budget has")
}

func TestExploreWithinBounds(t *testing.T) {
	lock, _ := impls.Find("setpx-del")
	for text, plan := range map[string]lab.ExplorePlan{
		"clients must be from 1 to 4, not 9":                                      {Clients: 9},
		"pauses must be 0 or more, not -1":                                        {Budget: search.Budget{faults.Pause: -1}},
		"reenter is for locks that promise re-entrance, which setpx-del does not": {Reenter: 1},
	} {
		plan.Lock = lock
		_, err := lab.Explore(t.Context(), plan)
		assert.EqualError(t, err, text)
	}
}

func TestExplorationOutcome(t *testing.T) {
	lua, ok := impls.Find("setpx-lua")
	assert.True(t, ok)
	config := search.Config{Lock: lua}
	found, held := &trace.Trace{Anomalies: []checker.Name{checker.WrongfulDelete}}, []string{"held"}
	tests := map[string]struct {
		result   search.Result
		expected points.Expectation
		want     lab.Outcome
	}{
		"holds":                {search.Result{Coverage: held}, points.MustHold, lab.AsExpected},
		"nobody ever held it":  {search.Result{Coverage: []string{"refused"}}, points.MustHold, lab.Unknown},
		"nor should have":      {search.Result{}, points.MustBreak, lab.Unknown},
		"broken as expected":   {search.Result{Found: found}, points.MustBreak, lab.AsExpected},
		"broken one passes":    {search.Result{Coverage: held}, points.MustBreak, lab.Surprise},
		"sound one breaks":     {search.Result{Found: found}, points.MustHold, lab.Surprise},
		"breaks a promise":     {search.Result{Found: found}, points.PerCard, lab.Surprise},
		"limit":                {search.Result{Coverage: held, Limit: "5 states"}, points.MustBreak, lab.Unknown},
		"found before a limit": {search.Result{Found: found}, points.MayBreak, lab.AsExpected},
		"a fault never struck": {search.Result{Coverage: held, Idle: []faults.Kind{faults.LongHold}}, points.MustHold, lab.Unknown},
		"excused":              {search.Result{Coverage: held, Excused: []*trace.Trace{found}}, points.PerCard, lab.AsExpected},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			explored := &lab.Exploration{Config: config, Result: &test.result, Expected: test.expected}
			assert.Equal(t, test.want, explored.Outcome())
		})
	}
}
