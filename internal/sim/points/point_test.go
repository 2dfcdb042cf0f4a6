package points

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/search"
)

// TestPoints: each entry of a line is found again, once.
func TestPoints(t *testing.T) {
	lines, err := Reviewed()
	require.NoError(t, err)
	tests := map[string][]string{
		"setpx-del": {
			"pause [double-holder]", "long-hold [double-holder]", "reply-lost [ghost-lock]", "reply-lost [double-holder]", "late-request [ghost-lock]",
			"late-request [double-holder]",
			"duplicate [wrongful-delete]", "duplicate [double-holder]", "clock-jump [double-holder]", "restart [double-holder]",
			"fail-over [double-holder]",
		},
		"local": {"none [double-holder]", "none [stale-write]", "none [lost-update]"},
		"redlock-no-second-look": {
			"pause [double-holder]", "late-request [stale-write]", "duplicate [stale-write]", "clock-jump [double-holder]",
			"restart [double-holder]", "fail-over [double-holder]",
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "redlock-no-second-look" {
				needs.Long(t, "searches on three servers")
			}
			lock, _ := impls.Find(name)
			line := lines[slices.IndexFunc(lines, func(l Line) bool { return l.Lock == name })]
			var found []string
			for _, point := range line.Points() {
				trace, err := point.Find(t.Context(), lock, search.Config{States: LongestStates})
				require.NoError(t, err)
				assert.LessOrEqual(t, len(trace.Faults), 2)
				found = append(found, point.Faults+" ["+string(trace.Anomalies[0])+"]")
			}
			assert.Equal(t, want, found)
		})
	}
}

// What the table names and no search finds is an error that says so.
func TestPointThatIsNotThere(t *testing.T) {
	lock, _ := impls.Find("setpx-lua")
	points := Line{Lock: lock.Name, Mixture: []faults.Kind{faults.Crash, faults.Duplicate}}.Points()
	require.Len(t, points, 1)
	assert.Equal(t, "2 × crash+duplicate: [double-holder]", points[0].String())
	_, err := points[0].Find(t.Context(), lock, search.Config{States: 1000})
	assert.EqualError(t, err, "by the table of breaking points, 2 × crash+duplicate: [double-holder]; it was not found again")
}
