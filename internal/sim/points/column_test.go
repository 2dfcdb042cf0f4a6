package points

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/search"
)

// Of two kinds the one counts that breaks the lock with fewer faults, if nothing is unknown of the other.
func TestEither(t *testing.T) {
	for _, test := range []struct{ one, other, want string }{
		{"-", "-", "-"},
		{"-", "2 double-holder", "2 double-holder"},
		{"2 stale-write", "2 double-holder", "2 stale-write"},
		{"2 stale-write", "1 double-holder", "1 double-holder"},
		{"2 stale-write", ">1", "2 stale-write"},
		{">1", "2 stale-write", ">1"},
		{">1", "1 stale-write", "1 stale-write"},
		{"2 stale-write", "? 1 to step 9", "? 1 to step 9"},
		{"-", "- in 2x1", "- in 2x1"},
		{"-", ">1", ">1"},
	} {
		one, err := parseBreak(test.one)
		require.NoError(t, err)
		other, err := parseBreak(test.other)
		require.NoError(t, err)
		assert.Equal(t, test.want, either([]Break{one, other}).String(), "%+v", test)
	}
}

// What a pause or a lost reply does alone is none of the drift's, nor of the release's that is tried again.
func TestVariants(t *testing.T) {
	for lock, want := range map[string]map[Column]string{
		"setnx-del":         {SlowClock: "- in 2x1", ReleaseAgain: "1 wrongful-delete; 1 double-holder"},
		"redisson-watchdog": {SlowClock: "2 double-holder"},
	} {
		for column, cell := range want {
			t.Run(lock+" "+string(column), func(t *testing.T) {
				if lock != "setnx-del" {
					needs.Long(t, "searches as large as for the table")
				}
				t.Parallel()
				spec, ok := impls.Find(lock)
				require.True(t, ok)
				states := 20_000
				if lock != "setnx-del" {
					states = ReviewedStates
				}
				lines, err := Search{Locks: []impls.Spec{spec}, Columns: []Column{column}, States: states}.Find(t.Context())
				require.NoError(t, err)
				assert.Equal(t, cell, lines[0].Cells[column].String())
				for _, point := range lines[0].Points() {
					found, err := point.Find(t.Context(), spec, search.Config{States: states})
					require.NoError(t, err)
					assert.Equal(t, column == SlowClock, found.Rate(faults.ClockBehind) != 1)
				}
			})
		}
	}
}
