package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/browser"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// sampleStorm is a storm of a lock whose release deletes what is there: clients take turns, others are refused meanwhile, and one holder in twenty is paused for
// longer than its lease.
func sampleStorm(t testing.TB, operations int) ([]history.Event, record.Cell) {
	s := reporttest.NewSample()
	client := func(i int) string { return fmt.Sprintf("C%d", i%5+1) }
	for i := range 5 {
		s.Add(time.Millisecond, history.Event{Kind: history.KindOpen, Client: client(i), Lock: reporttest.SampleKey, Detail: &history.Detail{Lease: reporttest.SampleLease}})
	}
	s.Step(0, "the storm with seed 7 begins")
	n := 0
	work := func(client string) {
		s.Call(client, history.OpWork)
		before, after := s.Stock(strconv.Itoa(n)), s.Stock(strconv.Itoa(n+1))
		s.Command(client, history.Resource, strconv.Quote(before.Value), reporttest.Change(reporttest.SampleStock, before, before), "GET", reporttest.SampleStock)
		s.Command(client, history.Resource, "OK", reporttest.Change(reporttest.SampleStock, before, after), "SET", reporttest.SampleStock, after.Value)
		s.Ret(client, history.OK, &history.Detail{Read: int64(n), Wrote: int64(n + 1)})
		n++
	}
	refused := func(client string) {
		s.Call(client, history.OpAcquire)
		for range 2 {
			s.Command(client, "redis", "nil", reporttest.Change(reporttest.SampleKey, reporttest.Held(reporttest.SampleLease/2), reporttest.Held(reporttest.SampleLease/2)), "SET", reporttest.SampleKey, "1", "NX", "PX", "500")
		}
		s.Ret(client, history.No, nil)
	}
	release := func(client string) {
		s.Call(client, history.OpRelease)
		s.Command(client, "redis", "1", reporttest.Change(reporttest.SampleKey, reporttest.Held(reporttest.SampleLease/2), history.State{}), "DEL", reporttest.SampleKey)
		s.Ret(client, history.OK, nil)
	}
	for turn := 0; s.Id < int64(operations); turn++ {
		one, two := client(turn), client(turn+1)
		s.Now += 15 * time.Millisecond
		s.Acquire(one)
		refused(two)
		if turn%20 == 19 {
			s.Fault(string(faults.Pause), one, history.PhaseInject, "SIGSTOP")
			s.Fault(string(faults.Pause), one, history.PhaseEffective, "the process is stopped")
			s.Now += reporttest.SampleLease + 100*time.Millisecond
			s.Acquire(two)
			s.Fault(string(faults.Pause), one, history.PhaseRecover, "SIGCONT")
			release(one) // which is the other's
			s.Acquire(client(turn + 2))
			work(client(turn + 2))
			release(two)
			continue
		}
		work(one)
		refused(client(turn + 3))
		release(one)
	}
	s.Fault(string(faults.Skew), "C1", history.PhaseInject, "+1s")
	s.Fault(string(faults.Skew), "C1", history.PhaseEffective, "+1s")
	s.Add(time.Millisecond, history.Event{Kind: history.KindExit, Client: "C1", Detail: &history.Detail{Why: "it was killed"}})
	s.Step(0, "the storm is over, and all faults have ended")
	s.Now += 2 * time.Second
	s.Add(0, history.Event{Kind: history.KindFinal, Lock: reporttest.SampleStock, Detail: &history.Detail{Value: int64(n)}})
	s.Add(0, history.Event{Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedComplete}})
	spec, ok := impls.Find("setpx-del")
	require.True(t, ok)
	contract := storm.ContractOf(spec)
	verdict, told := storm.Conclude(s.Events, contract, record.Storm{Seed: 7, Planned: 120})
	require.Equal(t, checker.Broken, verdict.Kind)
	require.NotNil(t, told.First)
	return s.Events, record.Cell{Lock: "setpx-del", Scenario: "storm", Round: 1, Dir: "storm/setpx-del.1", Verdict: verdict, Expected: contract.Expected(), Storm: told}
}

// stormPage is the page of a storm.
func stormPage(t testing.TB, operations int) (string, record.Cell) {
	t.Helper()
	events, cell := sampleStorm(t, operations)
	var page bytes.Buffer
	require.NoError(t, HTML(&page, &record.Run{Cells: []record.Cell{cell}, Finished: true}, reporttest.ReadBy(func(record.Cell) ([]history.Event, error) { return events, nil }), Beside{}))
	return page.String(), cell
}

// A storm's page has its operations, its faults and its anomalies over time, and its events in pieces, without the tries in vain.
func TestStormAsATimeline(t *testing.T) {
	events, cell := sampleStorm(t, 1500)
	page, _ := stormPage(t, 1500)
	var cells []pageCell
	require.NoError(t, json.Unmarshal([]byte(reporttest.InPage(t, page, "cells-0")), &cells))
	require.Len(t, cells, 1)
	s := cells[0].Timeline
	require.NotNil(t, s)
	require.Len(t, cells[0].Symptoms, len(cell.Verdict.Anomalies), "each has a mark")
	require.Contains(t, cells[0].Finding, "C5's DEL removed C1's lock", "and the finding tells of the first")

	require.Len(t, s.Operations, 3*cell.Storm.Operations, "each that was answered")
	require.Equal(t, []int64{206, 5, int64(history.OpAcquire)<<2 | int64(history.OK)}, s.Operations[:3], "the first: when, how long, and what")
	sum := int64(0)
	for i := 0; i < len(s.Operations); i += 3 {
		sum += s.Operations[i]
	}
	require.LessOrEqual(t, sum, s.Length)
	require.Equal(t, tenths(events[len(events)-1].At), s.Length)

	pause, skew := s.Faults[0], s.Faults[len(s.Faults)-1]
	require.Equal(t, []any{"pause", "C5", false}, []any{pause.Kind, pause.Target, pause.Awaits})
	require.InDelta(t, 6030, pause.To-pause.From, 100, "for a lease and a tenth of a second")
	require.Equal(t, "skew", skew.Kind)
	require.Less(t, skew.To, s.Length-10_000, "no fault of a client outlasts it")
	require.Equal(t, cell.Storm.Seen, s.Seen)
	i := slices.IndexFunc(s.Seen, func(x record.Seen) bool { return x.Name == checker.WrongfulDelete })
	require.Greater(t, len(s.Seen[i].At), 8, "all of them, though the verdict has the first only")
	require.Equal(t, "the storm is over, and all faults have ended", s.Notes[1].Text)

	require.Less(t, s.Kept, len(events)*3/4)
	require.Equal(t, len(events), s.Events)
	require.Greater(t, len(s.Pieces), 3)
	shown := map[int]bool{}
	for k, piece := range s.Pieces {
		require.Equal(t, int64(1), piece[2])
		var h struct {
			E []json.RawMessage
			N []string
		}
		require.NoError(t, json.Unmarshal([]byte(reporttest.InPage(t, page, fmt.Sprintf("piece-0-%d", k))), &h))
		at := 0
		for _, e := range h.E {
			if left, err := strconv.Atoi(string(e)); err == nil {
				at += left
				continue
			}
			shown[at] = true
			require.NotContains(t, string(e), `"nil"`, "a try in vain")
			at++
		}
		require.LessOrEqual(t, len(h.E), 2*pieceEvents)
	}
	for _, a := range cell.Verdict.Anomalies {
		for _, event := range a.Events {
			require.True(t, shown[event], "what shows an anomaly is in the page")
		}
	}
}

// Where not all of a storm has room in the page, what shows an anomaly has.
func TestStormThatIsTooLong(t *testing.T) {
	events, cell := sampleStorm(t, 1500)
	cell.Verdict.Anomalies = cell.Verdict.Anomalies[len(cell.Verdict.Anomalies)-1:]
	last := cell.Verdict.Anomalies[0].Events[len(cell.Verdict.Anomalies[0].Events)-1]
	s, data, err := newPageStorm(cell, diagram.Of(events), 0)
	require.NoError(t, err)
	require.Len(t, data, 1)
	k := slices.IndexFunc(s.Pieces, func(p [3]int64) bool { return p[2] == 1 })
	require.Equal(t, k, data[0].number)
	require.LessOrEqual(t, s.Pieces[k][0], int64(last))
	require.True(t, k+1 == len(s.Pieces) || s.Pieces[k+1][0] > int64(last))
}

// usable is how long a page took from its navigation until it could be used.
const usable = `performance.getEntriesByName('ready')[0].startTime`

// A storm of 10,000 operations is opened, seen over time, and gone through where a mark, a key, a click or a finger leads.
func TestAStormIsOpenedAndGoneThrough(t *testing.T) {
	needs.Long(t, "opens a storm in a browser")
	page, cell := stormPage(t, 10_000)
	require.GreaterOrEqual(t, cell.Storm.Operations, 10_000)
	name := filepath.Join(t.TempDir(), rundir.PageFile)
	require.NoError(t, os.WriteFile(name, []byte(page), 0o644))
	p := browser.Open(t)
	p.Look(1280, 900, false)
	open := func(place string) {
		p.Visit("about:blank")
		p.Visit("file://" + name + place)
		p.Wait("document.documentElement.dataset.ready")
	}
	text := func(selector string) string {
		return p.Eval(fmt.Sprintf(`document.querySelector(%q).textContent`, selector)).(string)
	}

	for _, place := range []string{"", "#/storm/setpx-del"} {
		open(place)
		took := p.Eval(usable).(float64)
		t.Logf("%d operations, %d bytes: usable after %.0f ms at %q", cell.Storm.Operations, len(page), took, place)
		assert.Less(t, took, 6000., "the bar is 2 s on a machine that does nothing else")
		assert.Less(t, p.Eval(`document.querySelectorAll('*').length`), 12_000., "not all steps are there at once")
	}

	open("")
	top := func(selector string) string {
		return fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().top`, selector)
	}
	assert.Equal(t, true, p.Eval(top(".finding")+" < "+top(".plot")+" && "+top(".plot")+" < "+top("#grid")), "the finding, the timeline, the matrix")
	assert.Contains(t, text(".plot"), "answers in each")
	assert.Contains(t, text(".plot"), "pause", "bands have names")
	assert.Equal(t, "slider", p.Eval(`document.querySelector('.plot').getAttribute('role')`))

	counted := p.Eval(`(() => { const answers = [[1, 1, 'acquire', 'ok'], [2, 3, 'acquire', 'ok'], [9, 2, 'acquire', 'no'], [10, 5, 'release', 'ok']].map(([at, took, op, outcome]) => ({at, took, op, outcome}));
		return slicesOf(answers, 0, 20, 10).map(s => [s.ok, s.no, s.unknown, percentile(s.took, 50), percentile(s.took, 99)].join(' ')).join('|'); })()`)
	assert.Equal(t, "2 1 0 1 3|1 0 0  ", counted)
	assert.Equal(t, "0 0 2 -1", p.Eval(`[[1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 0, 0]].map((has, n) => pieceWithSteps({pieces: has.map(h => [0, 0, h])}, n ? 1 : 0)).join(' ')`), "the nearest piece that the page has")

	p.Eval(`document.querySelector('.marks a').click()`)
	p.Wait(`!document.getElementById('cell').hidden && document.querySelector('.stage .side')`)
	assert.Contains(t, text(".wire"), "DEL")
	assert.Contains(t, text(".note.bad"), "removes C1's", "a mark leads to the step that shows it")
	assert.Contains(t, text(".servers"), "has nothing")
	steps := p.Eval(`document.querySelectorAll('#strip button').length`).(float64)
	assert.True(t, steps > 20 && steps <= 240, "the steps around it: %v", steps)
	assert.Contains(t, text(".verdict"), "C5's DEL removed C1's lock")
	p.Wait(`document.activeElement.id === 'next'`)
	assert.Equal(t, true, p.Eval(`(box => box.top >= -1 && box.top < 100)(document.getElementById('player').getBoundingClientRect())`), "they are in view")
	assert.Equal(t, true, p.Eval(`(box => { const row = document.querySelector('#film-0 .now').getBoundingClientRect(); return row.top >= box.top && row.bottom <= box.bottom; })(document.getElementById('film-0').getBoundingClientRect())`), "also on the film strip")
	assert.NotZero(t, p.Eval(`+document.querySelector('#cell .plot .seen').getAttribute('width')`), "the timeline shows where they are")
	assert.Equal(t, false, p.Eval(`!!document.getElementById('beside')`), "two storms have no steps in common")

	// The keys of the viewer go on beyond the steps that were there.
	number := `parseInt(location.hash.split('/').pop())`
	p.Key("End")
	from := p.Eval(number).(float64)
	p.Key("ArrowRight")
	p.Wait(number + fmt.Sprintf(" > %v && document.getElementById('now').textContent.length", from))
	p.Wait(fmt.Sprintf(`viewer.frames[viewer.at].columns[0].first > %v - 1`, from))
	p.Key("ArrowLeft")
	p.Wait(number + fmt.Sprintf(" <= %v", from))

	// Those of the timeline go to anomalies, and to a place.
	p.Eval(`document.querySelector('#cell .plot').focus()`)
	p.Key("Home")
	assert.Equal(t, "0", p.Eval(`document.activeElement.getAttribute('aria-valuenow')`))
	p.Key("PageDown")
	first := cell.Verdict.Anomalies[0]
	assert.Contains(t, p.Eval(`document.activeElement.getAttribute('aria-valuetext')`), string(first.Name)+" (1)")
	assert.NotZero(t, p.Eval(`document.querySelectorAll('#cell .plot .tick').length`), "those without a mark are there, too")
	p.Key("+")
	p.Key("+")
	assert.Equal(t, true, p.Eval(`storms.line.to - storms.line.from < storms.line.length / 3`), "closer")
	p.Key("Home")
	assert.Equal(t, 0., p.Eval(`storms.line.from`), "the cursor stays in view")
	p.Key("0")
	assert.Equal(t, true, p.Eval(`storms.line.from === 0 && storms.line.to === storms.line.length`))
	p.Key("End")
	p.Key("Enter")
	p.Wait(number + fmt.Sprintf(" > %d", len(cell.Verdict.Anomalies)) + ` && viewer.columns[0].h.until === viewer.columns[0].cell.timeline.events`)
	p.Key("Escape")
	p.Wait(`!document.getElementById('all').hidden`)

	// A click, and a finger that does not move, lead to the steps of that time; a finger that moves reads.
	touch := `(async (from, to, kind) => { const plot = document.querySelector('#storms .plot'), box = plot.getBoundingClientRect(), at = (name, x) => plot.dispatchEvent(new PointerEvent(name, {pointerType: kind, clientX: box.left + box.width * x, clientY: box.top + 40, bubbles: true}));
		at('pointerdown', from); at('pointermove', to); at('pointerup', to); })`
	p.Eval(touch + `(0.3, 0.6, 'touch')`)
	assert.NotContains(t, p.Eval(`location.hash`), "/storm/")
	assert.Equal(t, true, p.Eval(`(x => x > 0.5 && x < 0.65)(document.querySelector('#storms .plot').getAttribute('aria-valuenow') / document.querySelector('#storms .plot').getAttribute('aria-valuemax'))`))
	for _, kind := range []string{"touch", "mouse"} {
		p.Eval(touch + fmt.Sprintf(`(0.5, 0.5, %q)`, kind))
		p.Wait(`location.hash.includes('/storm/') && viewer.frames && viewer.frames.length && !document.getElementById('cell').hidden`)
		p.Wait(`Math.abs(viewer.frames[viewer.at].columns[0].now / storms.line.length - 0.46) < 0.05`)
		p.Key("Escape")
		p.Wait(`!document.getElementById('all').hidden`)
	}
	assert.NotEmpty(t, p.PDF())

	p.Visit("about:blank")
	open("#/storm/setpx-del/999999")
	assert.Contains(t, text("#window"), "arrow keys go on", "an event that does not exist is the last one")
	assert.Empty(t, p.Errors())
	looks(t, p, open)
}

// looks goes through all sizes and themes.
func looks(t *testing.T, p *browser.Page, open func(string)) {
	t.Helper()
	for name, place := range map[string]string{"storm": "", "storm-cell": "#/storm/setpx-del"} {
		open(place)
		p.Looks(name, nil)
		p.Eval(`document.getElementById('large').click()`)
		p.Fits(name + "-projector")
		p.Eval(`document.getElementById('large').click()`)
	}
	assert.Empty(t, p.Errors())
}
