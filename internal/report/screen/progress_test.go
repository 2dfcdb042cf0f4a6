package screen

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/report/terminal"
)

func TestProgressAsPlainLines(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, reporttest.Feed(New(io.Discard, &b, terminal.Options{Since: reporttest.Ticking()}), reporttest.SampleRun()))
	require.NotContains(t, b.String(), "\x1b")
	require.NotContains(t, b.String(), "\r")
	require.Regexp(t, `^progress: \d/12 done, \d surprises?, \d unknown, \d failed, \d+s elapsed, about \d+s left`, b.String())
	require.Equal(t, 3, strings.Count(b.String(), "\n"), "one every ten seconds:\n%s", b.String())
}

// TestShortRunsShowNoProgress: nobody needs it of what is over at once.
func TestShortRunsShowNoProgress(t *testing.T) {
	var b bytes.Buffer
	for _, bar := range []bool{false, true} {
		opts := terminal.Options{Bar: bar, Since: func() time.Duration { return time.Second }}
		require.NoError(t, reporttest.Feed(New(io.Discard, &b, opts), reporttest.SampleRun()))
	}
	require.Empty(t, b.String())
}

func TestProgressBarIsTakenAwayBeforeResultsAndAtTheEnd(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer // one screen for both
		require.NoError(t, reporttest.Feed(New(&b, &b, terminal.Options{Bar: true, Width: 100, Since: reporttest.Ticking(), Verbose: verbose}), reporttest.SampleRun()))
		rest := regexp.MustCompile(`(\r\[[^\r\n]*\x1b\[K)+\r\x1b\[K`).ReplaceAllString(b.String(), "")
		require.NotContains(t, rest, "\r")
		require.NotContains(t, rest, "\x1b")
		require.Regexp(t, `\[##########\.\.\.\.\.\.\.\.\.\.\] 6/12 done, 1 surprise, 0 unknown, 0 failed, \d+s elapsed, about \d+s left`, b.String())
	}
}

// TestProgressOfAStorm: the line follows it.
func TestProgressOfAStorm(t *testing.T) {
	var bar, lines bytes.Buffer
	var now time.Duration
	since := func() time.Duration { return now }
	drawn := New(io.Discard, &bar, terminal.Options{Bar: true, Width: 120, Since: since})
	plain := New(io.Discard, &lines, terminal.Options{Since: since})
	cell := record.Cell{Lock: "setpx-lua", Scenario: "storm", Round: 1, Storm: &record.Storm{}}
	for second := range 25 {
		now = time.Duration(second+1) * time.Second
		cell.Took, cell.Storm.Operations = now, 10*(second+1)
		for _, sink := range []report.Sink{drawn, plain} {
			require.NoError(t, sink.Handle(report.Event{Kind: report.StormGoesOn, Run: reporttest.SampleRun(), Cell: &cell, Total: 2}))
		}
	}
	require.Contains(t, bar.String(), "] 0/2 done, 0 surprises, 0 unknown, 0 failed, 17s elapsed; setpx-lua/storm for 17s, 170 operations\x1b[K")
	require.Equal(t, "progress: 0/2 done, 0 surprises, 0 unknown, 0 failed, 10s elapsed; setpx-lua/storm for 10s, 100 operations\n"+
		"progress: 0/2 done, 0 surprises, 0 unknown, 0 failed, 20s elapsed; setpx-lua/storm for 20s, 200 operations\n", lines.String())
}
