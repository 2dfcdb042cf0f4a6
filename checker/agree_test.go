package checker_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// TestAllAgreeOnStories compares who holds at each event of every history in the repository: by the checker's monitors, by porcupine's
// reader, by lab explain and by the steps in report.html.
func TestAllAgreeOnStories(t *testing.T) {
	stories, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, path := range stories {
		events, err := checker.ReadStory(path)
		require.NoError(t, err)
		agree(t, path, events)
	}
	histories, most := 0, needs.Count(t, "histories", 4, 1000)
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "history.jsonl" || !strings.Contains(path, "testdata") || histories == most {
			return err
		}
		histories++
		file, err := history.ReadFile(t.Context(), path)
		require.NoError(t, err)
		agree(t, path, file.Events)
		return nil
	}))
	assert.NotZero(t, histories)
	assert.NotEmpty(t, stories)
}

// TestAllAgreeOnTheSuite does the same for every cell of the suite. To judge it twice changes no verdict.
func TestAllAgreeOnTheSuite(t *testing.T) {
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	world := sim.Open(sim.Config{CellTimeout: time.Minute})
	var compared atomic.Int64
	played := needs.Count(t, "scenarios", 2, len(scripts)/2)
	t.Cleanup(func() {
		assert.Greater(t, compared.Load(), int64(1000*played/len(scripts)), "hardly a cell has a history")
	})
	for i := range played {
		script := scripts[i*len(scripts)/played]
		t.Run(script.Name, func(t *testing.T) {
			t.Parallel()
			for _, spec := range impls.All() {
				played, err := world.Play(t.Context(), play.SubjectOf(spec), script, "")
				require.NoError(t, err)
				if len(played.Events) > 0 {
					compared.Add(1)
				}
				agree(t, spec.Name, played.Events)
				once, twice := checker.Conclude(played.Events, checker.Options{}), checker.Conclude(played.Events, checker.Options{Twice: true})
				assert.Equal(t, once, twice, spec.Name)
				assert.False(t, twice.CheckerFault, twice.Reason)
			}
		})
	}
}

// BenchmarkOnceAndTwice compares what it takes to judge cells of the suite once and twice.
func BenchmarkOnceAndTwice(b *testing.B) {
	scripts, err := scenarios.Builtin()
	require.NoError(b, err)
	world := sim.Open(sim.Config{CellTimeout: time.Minute})
	var cells [][]history.Event
	for i := 0; i < len(scripts); i += 10 {
		for _, spec := range impls.All() {
			played, err := world.Play(b.Context(), play.SubjectOf(spec), scripts[i], "")
			require.NoError(b, err)
			cells = append(cells, played.Events)
		}
	}
	var took [2]time.Duration
	for b.Loop() {
		for _, events := range cells {
			for n, opts := range []checker.Options{{}, {Twice: true}} {
				start := time.Now()
				checker.Conclude(events, opts)
				took[n] += time.Since(start)
			}
		}
	}
	b.ReportMetric(float64(took[0].Microseconds())/float64(b.N*len(cells)), "once-µs/cell")
	b.ReportMetric(float64(took[1].Microseconds())/float64(b.N*len(cells)), "twice-µs/cell")
	b.ReportMetric(float64(took[1])/float64(took[0]), "times-slower")
}

// agree compares who holds after each event.
func agree(t *testing.T, name string, events []history.Event) {
	t.Helper()
	if len(events) == 0 {
		return
	}
	monitors, second := checker.HoldersByMonitors(events), checker.HoldersBySecondJudge(events)
	explained := byExplain(t, events)
	drawn := byPage(t, events)
	for i := range events {
		want := words(monitors[i])
		ok := assert.Equal(t, want, words(second[i]), "%s, event %d: porcupine's reader", name, i+1)
		if i < inPage {
			ok = assert.Equal(t, want, words(drawn[i]), "%s, event %d: report.html", name, i+1) && ok
		}
		if got, told := explained[i]; told {
			ok = assert.Equal(t, clients(monitors[i]), got, "%s, event %d: lab explain", name, i+1) && ok
		}
		if !ok {
			return
		}
	}
}

func words(holders []checker.Holder) []string {
	all := []string{}
	for _, h := range holders {
		all = append(all, h.Client+" "+h.Lock)
	}
	slices.Sort(all)
	return all
}

func clients(holders []checker.Holder) []string {
	all := []string{}
	for _, h := range holders {
		all = append(all, h.Client)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// surprise is a cell of which every report shows the whole history.
func surprise() record.Cell {
	return record.Cell{
		Lock: "lock", Scenario: "scenario", Verdict: checker.Verdict{Kind: checker.Safe},
		Expected: record.Expectation{Verdict: checker.Verdict{Kind: checker.Broken}, By: record.ByMatrix},
	}
}

// byExplain reads the gutters of lab explain: the clients that hold a lock, by event. Lines of the script have no gutter.
func byExplain(t *testing.T, events []history.Event) map[int][]string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, diagram.Explain(&b, surprise(), events, diagram.ExplainOptions{Width: 1000, Limit: len(events)}))
	held := make(map[int][]string)
	var names []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		cells := []rune(line)
		if strings.HasPrefix(line, "    # ") {
			names = strings.Fields(line)[2:]
			continue
		}
		if names == nil || len(cells) < gutters {
			continue
		}
		number, err := strconv.Atoi(strings.TrimSpace(string(cells[:5])))
		if err != nil {
			continue
		}
		held[number-1] = []string{}
		at := gutters
		for _, name := range names {
			if cells[at] == '┃' {
				held[number-1] = append(held[number-1], name)
			}
			at += 1 + max(2, len(name))
		}
		slices.Sort(held[number-1])
	}
	return held
}

// gutters is where the first lane of lab explain stands. A lane is as wide as its client's name.
const gutters = 16

// inPage is how many events a page has of a history at most: here the first.
const inPage = 600

// byPage reads the holds in report.html.
func byPage(t *testing.T, events []history.Event) (held [][]checker.Holder) {
	t.Helper()
	var b bytes.Buffer
	run := &record.Run{Cells: []record.Cell{surprise()}}
	require.NoError(t, page.HTML(&b, run, one(events), page.Beside{}))
	_, text, _ := strings.Cut(b.String(), `id="cells-0">`)
	text, _, found := strings.Cut(text, "<")
	require.True(t, found, "there are steps")
	packed, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	var cells []struct {
		History struct {
			Names []string    `json:"n"`
			Holds [][]float64 `json:"h"`
		}
	}
	require.NoError(t, json.NewDecoder(flate.NewReader(bytes.NewReader(packed))).Decode(&cells))
	h := cells[0].History
	held = make([][]checker.Holder, len(events))
	for _, hold := range h.Holds {
		for i := range events {
			if hold[2] <= float64(i) && float64(i) < hold[3] {
				held[i] = append(held[i], checker.Holder{Client: h.Names[int(hold[0])-1], Lock: h.Names[int(hold[1])-1]})
			}
		}
	}
	return held
}

// one is a run's only history.
type one []history.Event

func (events one) Read(record.Cell) ([]history.Event, error) { return events, nil }
func (one) Where(record.Cell) string                         { return "" }
