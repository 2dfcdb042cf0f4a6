package lab_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// TestTheBrokenPromiseIsNamed: of a lock that is judged by its promises, each anomaly that counts names the promise that it breaks, on every screen.
func TestTheBrokenPromiseIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		lock, scenario string
		promises       []impls.Promise
		anomaly        checker.Name
		breaks         string
	}{
		"too long a hold":   {"setpx-lua", "pause-past-lease", []impls.Promise{impls.MutualExclusion, impls.ExclusionOnPause}, checker.DoubleHolder, "ends-with-lease"},
		"not told in time":  {"setpx-lua", "cut-off-past-lease", []impls.Promise{impls.MutualExclusion, impls.ToldInTime}, checker.DoubleHolder, "tells-in-time"},
		"a wrong clock":     {"getset", "clock-ahead", []impls.Promise{impls.MutualExclusion, impls.IgnoresClientTime}, checker.DoubleHolder, "ignores-clocks"},
		"another's release": {"setpx-del", "released-twice", []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner}, checker.WrongfulDelete, "release-by-owner"},
		"and what follows":  {"setpx-del", "released-twice", []impls.Promise{impls.MutualExclusion}, checker.DoubleHolder, "exclusion"},
		"a crash":           {"setnx-del", "holder-crashes", []impls.Promise{impls.CrashSafety}, checker.StuckLock, "crash-safe"},
		"no promise at all": {"setpx-del", "released-twice", nil, checker.DoubleHolder, ""},
	} {
		t.Run(name, func(t *testing.T) {
			scripts, err := scenarios.Builtin()
			require.NoError(t, err)
			script, _ := scenarios.Find(scripts, test.scenario)
			spec, _ := impls.Find(test.lock)
			var junit, html bytes.Buffer
			run, err := lab.Run(t.Context(), lab.Plan{
				Cases: lab.Cases([]*scenarios.Script{script}, lab.Subjects(spec), 1, func(*scenarios.Script, play.Subject) record.Expectation {
					return storm.Contract{Promises: test.promises}.Expected()
				}),
				Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: t.TempDir()}},
			})
			require.NoError(t, err)
			histories := lab.HistoriesOf(run)
			defer func() { require.NoError(t, histories.Close()) }()
			cell := run.Cells[0]
			i := slices.IndexFunc(cell.Verdict.Anomalies, func(a checker.Anomaly) bool { return a.Name == test.anomaly && a.Beyond == "" })
			require.GreaterOrEqual(t, i, 0, "%+v", cell.Verdict)
			a := cell.Verdict.Anomalies[i]
			require.Equal(t, test.breaks, a.Breaks)
			if test.breaks == "" {
				return
			}
			var explained bytes.Buffer
			cell, file, err := lab.ReadCell(t.Context(), run, cell)
			require.NoError(t, err)
			require.NoError(t, diagram.Explain(&explained, cell, file.Events, diagram.ExplainOptions{Width: 1000}))
			require.NoError(t, report.JUnit(&junit, run))
			require.NoError(t, page.HTML(&html, run, histories, page.Beside{}))
			for screen, text := range map[string]string{"explain": explained.String(), "JUnit": junit.String(), "HTML": html.String()} {
				assert.True(t, strings.Contains(text, fmt.Sprintf("at %.3fs: breaks %s: ", a.At.Seconds(), test.breaks)) || screen == "explain" && strings.Contains(text, "    breaks "+test.breaks+": "), screen)
				assert.True(t, strings.Contains(text, "; breaks "), screen)
			}
		})
	}
}
