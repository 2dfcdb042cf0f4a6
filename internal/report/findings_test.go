package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/report/terminal"
)

// oneCause is a run of a client whose DEL shows in eight scenarios, with another surprise.
func oneCause() *record.Run {
	run := &record.Run{Dir: "runs/x", Finished: true}
	promises := record.Expectation{Verdict: checker.Verdict{Kind: checker.Safe}, By: record.ByPromises}
	for n := range 8 {
		removed := checker.Anomaly{Name: checker.WrongfulDelete, Clients: []string{"C2", "C1"}, Breaks: "release-by-owner", Command: "DEL", At: 5, Events: []int{6, 90 - 10*n}}
		follows := checker.Anomaly{Name: checker.DoubleHolder, Clients: []string{"C2", "C1"}, Breaks: "exclusion", At: 7, Events: []int{6, 99}}
		c := reporttest.CellOf("mine", fmt.Sprintf("scenario-%d", n), checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{removed, follows}}, promises.Verdict)
		c.Expected = promises
		run.Cells = append(run.Cells, c)
	}
	stuck := reporttest.CellOf("mine", "crash", checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.StuckLock, Breaks: "crash-safe", Events: []int{3}}}}, promises.Verdict)
	stuck.Expected = promises
	run.Cells = append(run.Cells, stuck)
	return run
}

// TestSurprisesOfOneCause are one finding with eight places, wherever people read them; JUnit has each cell.
func TestSurprisesOfOneCause(t *testing.T) {
	run := oneCause()
	var out bytes.Buffer
	sink := screen.New(&out, io.Discard, terminal.Options{Width: 120})
	require.NoError(t, sink.Handle(report.Event{Kind: report.RunEnd, Run: run, Total: len(run.Cells)}))
	_, list, found := strings.Cut(out.String(), "Surprises\n")
	require.True(t, found, out.String())
	list, _, _ = strings.Cut(list, "9 cells")
	assert.Equal(t, `  !! mine: release-by-owner: DEL removed another client's lock, in 8 scenarios; smallest: scenario-7
     lab explain runs/x mine/scenario-7
     also scenario-6, scenario-5, scenario-4, scenario-3, scenario-2, scenario-1, scenario-0
Others
  !! mine/crash                          stuck-lock; breaks crash-safe; expected no broken promise (promises)
     lab explain runs/x mine/crash

`, list)

	out.Reset()
	require.NoError(t, report.Summary(&out, run))
	assert.Equal(t, 2, strings.Count(out.String(), "| SURPRISE |"), out.String())
	out.Reset()
	require.NoError(t, report.Annotations(&out, run))
	assert.Equal(t, 2, strings.Count(out.String(), "::error "), out.String())
	out.Reset()
	require.NoError(t, report.JUnit(&out, run))
	assert.Equal(t, 9, strings.Count(out.String(), "<failure"), out.String())
}
