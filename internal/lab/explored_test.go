package lab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
)

// A counterexample is a page, with its finding as a sentence. A directory has one.
func TestAnExplorationIsAPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "explored")
	lock, _ := impls.Find("setpx-del")
	for _, test := range []struct {
		budget search.Budget
		want   []string
	}{
		{search.Budget{faults.ReplyLost: 1}, []string{"s acquire ended without it.", "A request is carried out, and its reply is lost.", "cells-0"}},
		{search.Budget{}, []string{"No surprise, and nothing broke", "cells-0"}},
	} {
		page, err := ClaimExploration(dir)
		require.NoError(t, err)
		_, err = ClaimExploration(dir)
		assert.ErrorAs(t, err, new(*DirError), "it is in use")
		explored, err := Explore(t.Context(), ExplorePlan{Lock: lock, Clients: 2, Budget: test.budget})
		require.NoError(t, err)
		path, err := page.Write(explored, []string{"explore", "setpx-del"})
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, want := range test.want {
			assert.Contains(t, string(text), want)
		}
		require.NoError(t, page.Discard())
		_, err = os.Stat(dir)
		assert.True(t, errors.Is(err, os.ErrNotExist))
	}
}

// The table of breaking points is a page: each entry that breaks a lock opens its counterexample, and none is a surprise that is as reviewed.
func TestTheTableIsAPage(t *testing.T) {
	lock, _ := impls.Find("setpx-del")
	lines, err := points.Search{Locks: []impls.Spec{lock}, Columns: []points.Column{"reply-lost", "clock-ahead"}, States: points.UsualStates}.Find(t.Context())
	require.NoError(t, err)
	reviewed, err := points.Reviewed()
	require.NoError(t, err)
	x := pointsPage(lines, reviewed, nil)
	var breaks []string
	for _, c := range x.run.Cells {
		if c.Scenario == "mixture" { // was not searched
			continue
		}
		assert.False(t, c.Surprise(), "%+v", c)
		events, err := x.page.Read(c)
		switch c.Verdict.Kind {
		case checker.Broken:
			require.NoError(t, err)
			assert.Equal(t, c.Verdict.Names(), checker.Judge(events, checker.Options{}).Names(), "its history is that of its verdict")
			breaks = append(breaks, c.Scenario+": "+c.Verdict.String())
		case checker.Safe:
			assert.EqualError(t, err, "The search found nothing within its bounds.")
		default:
			t.Errorf("%+v", c)
		}
	}
	assert.Equal(t, []string{"reply-lost: ghost-lock", "reply-lost: double-holder"}, breaks[:2])
	assert.Equal(t, []string{"1G 1D", "1 ghost-lock; 1 double-holder"}, x.page.Entries[[2]string{"setpx-del", "reply-lost"}])

	lines[0].Cells["clock-ahead"] = lines[0].Cells["reply-lost"]
	x = pointsPage(lines, reviewed, nil)
	surprises := 0
	for _, c := range x.run.Cells {
		if c.Surprise() {
			surprises++
			assert.Equal(t, "clock-ahead", c.Scenario)
		}
	}
	assert.Equal(t, 2, surprises, "what is not as reviewed")
}
