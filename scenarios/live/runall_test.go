//go:build linux || darwin

package live_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/live"
)

// observer writes down how a run goes on. RunAll calls it once at a time.
type observer struct {
	started, ended []string
	heard          []time.Duration // of a storm
	onStart, onEnd func(name string) error
}

func (o *observer) CellStarted(c cells.Case) error {
	name := c.Planned().Dir
	o.started = append(o.started, name)
	if o.onStart == nil {
		return nil
	}
	return o.onStart(name)
}

func (o *observer) StormGoesOn(c cells.Case, lasted time.Duration, operations int64) error {
	o.heard = append(o.heard, lasted)
	return nil
}

func (o *observer) CellEnded(c checker.Cell) error {
	o.ended = append(o.ended, c.Dir)
	if o.onEnd == nil {
		return nil
	}
	return o.onEnd(c.Dir)
}

func nothingExpected(*scenarios.Script, cells.Subject) checker.Expected { return checker.Expected{} }

// quick are cells that end before anything is started, because no lock but the watchdog renews itself.
func quick(t *testing.T, rounds int) []cells.Case {
	t.Helper()
	renewal := script(t, "quick", "lease 60s\nclients C1\nneeds renewal\nC1 acquire => ok")
	return cells.Plan([]*scenarios.Script{renewal}, []cells.Subject{subject(t, "setnx-del"), subject(t, "setpx-lua")}, rounds, nothingExpected)
}

func TestPlanAndShards(t *testing.T) {
	cases := quick(t, 5)
	names := func(cases []cells.Case) (names []string) {
		for _, c := range cases {
			names = append(names, c.Planned().Dir)
		}
		return names
	}
	require.Equal(t, []string{"quick/setnx-del.1", "quick/setnx-del.2", "quick/setnx-del.3", "quick/setnx-del.4", "quick/setnx-del.5",
		"quick/setpx-lua.1", "quick/setpx-lua.2", "quick/setpx-lua.3", "quick/setpx-lua.4", "quick/setpx-lua.5"}, names(cases))
	var all []string
	for i := 1; i <= 3; i++ {
		all = append(all, names(cells.Shard(cases, i, 3))...)
	}
	assert.ElementsMatch(t, names(cases), all)
	assert.Empty(t, cells.Shard(cases, 11, 11))
}

func TestOrderFollowsTheSeed(t *testing.T) {
	world := open(t, nil)
	patient := cells.Case{Subject: subject(t, "setpx-lua"), Round: 1,
		Script: script(t, "patient", "lease 60s\nclients C1\nneeds resend\nC1 acquire => ok")}
	cases := append(quick(t, 10), patient)
	order := func(seed int64, parallel int) []string {
		o := &observer{}
		cells, err := cells.RunAll(t.Context(), cases, cells.Order{Parallel: parallel, Seed: seed}, o, world.Run)
		require.NoError(t, err)
		require.Len(t, cells, len(cases))
		for i, cell := range cells {
			assert.Equal(t, cases[i].Planned().Dir, cell.Dir, "the cells are returned in the order of the cases")
			assert.Equal(t, checker.NotApplicable, cell.Verdict.Kind)
		}
		assert.ElementsMatch(t, o.started, o.ended)
		return o.started
	}
	first := order(1, 1)
	assert.Equal(t, "patient/setpx-lua.1", first[0], "what waits longest begins first")
	assert.Equal(t, first, order(1, 1))
	assert.Equal(t, first, order(1, 4), "cells are started in the same order however many run")
	assert.NotEqual(t, first, order(2, 1))
}

func TestProgressStopsTheRun(t *testing.T) {
	world := open(t, nil)
	enough := errors.New("enough")
	tests := map[string]struct {
		observer       *observer
		started, ended int
	}{
		"at the end of a cell": {&observer{onEnd: func(string) error { return enough }}, 1, 1},
		"at its start":         {&observer{onStart: func(string) error { return enough }}, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cells, err := cells.RunAll(t.Context(), quick(t, 10), cells.Order{Parallel: 1, Seed: 1}, test.observer, world.Run)
			require.ErrorIs(t, err, enough)
			assert.Len(t, cells, test.ended)
			assert.Len(t, test.observer.started, test.started)
			assert.Len(t, test.observer.ended, test.ended)
		})
	}
}

// TestCancelledRun ends a run while one cell is in the middle of a wait of a minute and others have not begun.
func TestCancelledRun(t *testing.T) {
	for _, server := range []string{live.Embedded, live.RedisServer} {
		t.Run(server, func(t *testing.T) {
			if server == live.RedisServer {
				needRedis(t)
			}
			world := open(t, func(cfg *live.Config) { cfg.Server = server })
			long := script(t, "long", "lease 60s\nclients C1\nC1 acquire => ok\nwait until freed => no\nC1 release")
			cases := append(quick(t, 1), cells.Plan([]*scenarios.Script{long}, []cells.Subject{subject(t, "setpx-lua")}, 20, nothingExpected)...)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := &observer{}
			o.onEnd = func(string) error { // both quick cells have ended, so two of the long ones are under way or about to be
				if len(o.ended) == 2 {
					cancel()
				}
				return nil
			}
			began := time.Now()
			// The seed is one by which the quick cells do not come last.
			cells, err := cells.RunAll(ctx, cases, cells.Order{Parallel: len(cases), Seed: 1}, o, world.Run)
			require.NoError(t, err)
			assert.Less(t, time.Since(began), 30*time.Second)
			require.Len(t, cells, 2, "cells that were cut short are left out")
			for _, cell := range cells {
				assert.True(t, strings.HasPrefix(cell.Dir, "quick/"))
			}
			assert.Subset(t, o.started, o.ended)
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(o.started))), len(o.started), "no cell is started twice")
		})
	}
}

func TestExpect(t *testing.T) {
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	expect := cells.Expect(matrix, impls.All())
	known, mine := builtin(t, "take-turns"), script(t, "mine", "lease 60s\nclients C1\nC1 acquire => ok")
	safe := checker.Verdict{Kind: checker.Safe}
	assert.Equal(t, checker.ByMatrix, expect(known, cells.Subject{Name: "setnx-del"}).By)
	namesake := script(t, known.Name, "lease 60s\nclients C1\nC1 acquire => ok")
	assert.Equal(t, checker.ByCard, expect(namesake, cells.Subject{Name: "setnx-del"}).By, "the matrix is about the scripts of the lab")
	assert.Equal(t, checker.Expected{By: checker.ByCard, Verdict: safe}, expect(mine, cells.Subject{Name: "setpx-lua"}))
	assert.Equal(t, checker.Expected{By: checker.ByCard}, expect(mine, cells.Subject{Name: "getset"}), "anything may come of a lock with a known bug")
	assert.Equal(t, checker.Expected{By: checker.ByDefault, Verdict: safe}, expect(mine, cells.Subject{Name: "stranger"}))
}
