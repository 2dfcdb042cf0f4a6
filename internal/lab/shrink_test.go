package lab_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// TestSavedStormsShrink: what a saved storm has found becomes a script that shows it in the model.
func TestSavedStormsShrink(t *testing.T) {
	run, err := lab.ReadRun("../../cmd/lab/testdata/runs/storm")
	require.NoError(t, err)
	histories := lab.HistoriesOf(run)
	defer histories.Close()
	caught := 0
	for _, cell := range run.Cells {
		if cell.Storm == nil || cell.Storm.First == nil {
			continue
		}
		caught++
		events, err := histories.Read(cell)
		require.NoError(t, err)
		spec, ok := impls.Find(cell.Lock)
		require.True(t, ok)
		var broken []checker.Anomaly
		for _, a := range cell.Verdict.Anomalies {
			if a.Beyond == "" {
				broken = append(broken, a)
			}
		}
		shrunk, err := lab.Shrink(t.Context(), lab.ShrinkPlan{
			Subject: play.SubjectOf(spec), Events: events, Anomalies: broken, Lease: time.Second, Setting: lab.Setting{World: lab.Sim},
		})
		require.NoError(t, err)
		require.NotNil(t, shrunk.Script, "%s: %v", cell.Lock, shrunk.Tried)
		require.False(t, shrunk.Smallest, "%s: its own schedule was not forced: %v", cell.Lock, shrunk.Tried)

		again, err := lab.Run(t.Context(), lab.Plan{
			Cases:   lab.Cases([]*scenarios.Script{shrunk.Script}, []play.Subject{play.SubjectOf(spec)}, 1, lab.Expect(nil)),
			Options: lab.Options{Setting: lab.Setting{World: lab.Sim}},
		})
		require.NoError(t, err)
		require.False(t, again.Cells[0].Surprise(), "%s: %s", cell.Lock, again.Cells[0].Verdict)
		require.Equal(t, record.ByScript, again.Cells[0].Expected.By)
	}
	require.Positive(t, caught)
}

// TestSavedFindingsAreForced: what storms have found in these histories is forced in the model, in the history's own order. Each file is
// named after its lock and, where there are several of a lock, after what happened.
func TestSavedFindingsAreForced(t *testing.T) {
	files, err := filepath.Glob("testdata/storms/*.jsonl.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files[:needs.Count(t, "findings", 1, len(files))] {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
		t.Run(name, func(t *testing.T) {
			lock, _, _ := strings.Cut(name, ".")
			spec, ok := impls.Find(lock)
			require.True(t, ok)
			events := unpacked(t, file)
			verdict := storm.ByPromises(events, storm.ContractOf(spec), false)
			found := slices.DeleteFunc(slices.Clone(verdict.Anomalies), func(a checker.Anomaly) bool { return a.Beyond != "" })
			require.NotEmpty(t, found, "%s", verdict)
			shrunk, err := lab.Shrink(t.Context(), lab.ShrinkPlan{
				Subject: play.SubjectOf(spec), Events: events, Anomalies: found, Lease: time.Second, Setting: lab.Setting{World: lab.Sim},
			})
			require.NoError(t, err)
			require.NotNil(t, shrunk.Script, "%v", shrunk.Tried)
			require.False(t, shrunk.Smallest, "its own schedule was not forced: %v", shrunk.Tried)
		})
	}
}

func unpacked(t *testing.T, path string) []history.Event {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	saved, err := history.Read(t.Context(), r, path)
	require.NoError(t, err)
	return saved.Events
}

// TestSmallestSchedule stands in where a history cannot be forced, and the script says so.
func TestSmallestSchedule(t *testing.T) {
	needs.Long(t, "a schedule that is shrunk twice")
	spec, ok := impls.Find("setpx-getdel")
	require.True(t, ok)
	plan := lab.ShrinkPlan{
		Subject: play.SubjectOf(spec), Lease: time.Second, Setting: lab.Setting{World: lab.Sim},
		Events:    []history.Event{{Kind: history.KindOpen, Client: "C1", Lock: "lock", Detail: &history.Detail{Lease: time.Second}}},
		Anomalies: []checker.Anomaly{{Name: checker.WrongfulDelete, Clients: []string{"C1"}, Events: []int{0}}},
	}
	var counts []int
	plan.Attempt = func(s lab.ShrinkState) { counts = append(counts, s.Played) }
	shrunk, err := lab.Shrink(t.Context(), plan)
	require.NoError(t, err)
	require.NotNil(t, shrunk.Script, "%v", shrunk.Tried)
	require.Len(t, slices.Compact(counts), shrunk.Played+1, "each play is told of when it has ended")
	require.True(t, shrunk.Smallest)
	require.Equal(t, checker.WrongfulDelete, shrunk.Anomaly.Name)
	require.Equal(t, 3, shrunk.InModel)
	require.Zero(t, shrunk.OnServer, "only the model was asked")
	require.Contains(t, string(scenarios.Format(shrunk.Script)), "# The storm's own schedule could not be forced;")
	require.Len(t, shrunk.Tried, 1)

	var rejected []string
	plan.Attempt = func(s lab.ShrinkState) {
		if s.Rejected != "" {
			rejected = append(rejected, s.Rejected)
		}
	}
	plan.Anomalies[0].Name = checker.FenceRegression // which no schedule of this lock shows
	shrunk, err = lab.Shrink(t.Context(), plan)
	require.NoError(t, err)
	require.Nil(t, shrunk.Script)
	require.NotEmpty(t, shrunk.Tried)
	require.Equal(t, shrunk.Tried, rejected)
}
