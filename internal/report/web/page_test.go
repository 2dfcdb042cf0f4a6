package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/browser"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// tour is the page of the tour's run.
func tour(t *testing.T) (url string) {
	t.Helper()
	cases, _, err := lab.Tour()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "run")
	_, err = lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: dir}}})
	require.NoError(t, err)
	return "file://" + filepath.Join(dir, rundir.PageFile)
}

// open shows a place of a page.
func open(p *browser.Page, url, place string) {
	p.Visit("about:blank")
	p.Visit(url + place)
	p.Wait("document.documentElement.dataset.ready")
}

const press = "ArrowRight"

// A reader goes from the matrix by search to a cell, through its steps by the keyboard, to another lock beside it, along the film strip, and back.
func TestFromTheMatrixThroughACellAndBack(t *testing.T) {
	p := browser.Open(t)
	p.Look(1280, 900, false)
	url := tour(t)
	open(p, url, "")
	assert.Equal(t, true, p.Eval(`document.querySelector('.finding').getBoundingClientRect().top < document.querySelector('#grid').getBoundingClientRect().top`), "findings come first")
	assert.Contains(t, p.Eval(`document.querySelector('.findings').textContent`), "the counter ended at")
	assert.Equal(t, 0., p.Eval(`document.querySelectorAll('#grid td.na').length`), "n/a is hidden")
	all := p.Eval(`document.querySelectorAll('#grid td a').length`).(float64)

	p.Eval(`document.getElementById('na').click()`)
	assert.Equal(t, 36., p.Eval(`document.querySelectorAll('#grid td a').length`), "every cell")
	p.Eval(`document.getElementById('na').click()`)
	p.Eval(`document.getElementById('q').focus()`)
	p.Type("pause SETPX-del")
	p.Wait(`document.querySelectorAll('#grid td a').length === 1`)
	assert.Equal(t, "#q=pause+SETPX-del", p.Eval(`location.hash`), "the URL has the search")
	open(p, url, "#q=stuck")
	found := p.Eval(`document.querySelectorAll('#grid td a').length`).(float64)
	assert.True(t, found > 0 && found < all, "an anomaly is found, by the URL: %v of %v", found, all)
	open(p, url, "#q=pause&show=broken")

	p.Eval(`document.querySelector('#grid td a').focus()`)
	from := p.Eval(`document.activeElement.dataset.words`)
	p.Key("ArrowRight")
	assert.NotEqual(t, from, p.Eval(`document.activeElement.dataset.words`), "arrow keys go from cell to cell")
	p.Eval(`document.querySelector('#grid td a[data-words^="setpx-del in pause-past-lease"]').focus()`)
	p.Key("Enter")
	p.Wait(`!document.getElementById('cell').hidden && document.querySelector('.stage .side')`)

	assert.Contains(t, p.Eval(`document.querySelector('.story').textContent`), "The holder is paused for longer than its lease")
	head := p.Eval(`document.querySelector('.head').textContent`)
	for _, part := range []string{"DEL does not check the owner", "C1 was paused while its lease ended", "the cause", "follows from 1"} {
		assert.Contains(t, head, part)
	}
	for place, parts := range map[string][]string{
		".head":      {"two clients held the lock at the same time. A hold ends when its client learns"},
		".explained": {"pause: a client's process is stopped", "What stops it: no lock of this run", "setnx-del: withstands this, but shows stuck-lock in holder-crashes.", "fenced: shows less, but still double-holder."},
	} {
		for _, part := range parts {
			assert.Contains(t, p.Eval(`document.querySelector('`+place+`').textContent`), part)
		}
	}
	assert.Equal(t, 2., p.Eval(`document.querySelectorAll('.stage .side').length`), "the lock that repairs it stands beside it")
	assert.Equal(t, "safe", p.Eval(`document.querySelectorAll('.head .tag')[1].textContent`))
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "C2  acquire", "it opens where the cause happens")
	assert.Contains(t, p.Eval(`document.querySelector('.side').textContent`), "C1 and C2 believe that they hold")

	assert.Contains(t, p.Eval(`document.querySelector('.source li.ran').textContent`), `"SET"`, "the line that sent the step's command")
	assert.Contains(t, p.Eval(`document.querySelector('.source li.faulty').textContent`), `"DEL"`, "and the line that is the bug")

	steps := p.Eval(`document.querySelectorAll('#strip button').length`).(float64)
	assert.Less(t, steps, 20., "rounds that are alike are one step")
	p.Key("Home")
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "1 / ")
	assert.Contains(t, p.Eval(`document.querySelector('.client.holds').textContent`), "C1", "C1 believes that it holds")
	assert.Contains(t, p.Eval(`document.querySelector('.servers .server').textContent`), "C1’s", "and the server has it so")
	before := p.Eval(`location.hash`)
	p.Key(press)
	assert.NotEqual(t, before, p.Eval(`location.hash`), "the URL names the step")
	assert.Equal(t, "C1  work hold before first write => held-up", p.Eval(`document.querySelector('.script .now').textContent`))
	for range int(steps) {
		p.Key(press)
	}
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), fmt.Sprintf("%v / %v", steps, steps))
	assert.Greater(t, p.Eval(`document.querySelectorAll('#strip i.two').length`), 2., "red while two believe")
	p.Key(" ")
	assert.Equal(t, "true", p.Eval(`document.getElementById('play').getAttribute('aria-pressed')`))
	p.Key(" ")

	swipe := `(from, to) => { const stage = document.getElementById('stage'), at = x => [new Touch({identifier: 1, target: stage, clientX: x, clientY: 300})];
		stage.dispatchEvent(new TouchEvent('touchstart', {touches: at(from)})); stage.dispatchEvent(new TouchEvent('touchend', {changedTouches: at(to)})); }`
	p.Key("Home")
	p.Eval(`(` + swipe + `)(300, 100)`)
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "2 / ", "a finger goes on")
	p.Eval(`(` + swipe + `)(100, 300)`)
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "1 / ", "and back")

	p.Eval(`document.querySelector('.wire summary').click()`)
	assert.Contains(t, p.Eval(`document.querySelector('.wire pre').textContent`), `"kind": `, "the raw event")

	p.Eval(`document.getElementById('hide').click()`)
	p.Wait(`location.hash.includes('hide=1')`)
	p.Key("Home")
	assert.NotContains(t, p.Eval(`document.querySelector('.head').textContent`), "removed", "the verdict is hidden")
	assert.NotContains(t, p.Eval(`document.querySelector('.source').textContent`), "the bug", "and so is the line")
	p.Key("End")
	assert.Contains(t, p.Eval(`document.querySelector('.head').textContent`), "C1's DEL removed C2's lock", "until it has happened")

	p.Eval(`(s => { s.value = 'fenced'; s.dispatchEvent(new Event('input')); })(document.getElementById('beside'))`)
	p.Wait(`location.hash.includes('beside=fenced') && document.querySelectorAll('.head')[1].textContent.includes('fenced')`)
	assert.Equal(t, 2., p.Eval(`document.querySelectorAll('.film').length`))
	assert.Equal(t, true, p.Eval(`[...document.querySelectorAll('.film')].every(f => f.scrollWidth <= f.clientWidth)`), "no film strip is wider than its frame")
	assert.Equal(t, "sticky", p.Eval(`getComputedStyle(document.querySelector('.film-head')).position`))
	p.Eval(`document.querySelectorAll('.film')[0].querySelectorAll('.film-step')[2].click()`)
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "3 / ", "the film strip leads to its step")

	p.Key("Escape")
	p.Wait(`!document.getElementById('all').hidden`)
	assert.Equal(t, "#q=pause&show=broken", p.Eval(`location.hash`), "back to the same matrix")
	assert.Empty(t, p.Errors())
	assert.NotEmpty(t, p.PDF())
}

// Steps of two cells are aligned by the script's lines; what is repeated is there once, but for what an anomaly needs.
func TestStepsAreAlignedAndRoundsFolded(t *testing.T) {
	p := browser.Open(t)
	open(p, tour(t), "")
	steps := func(keys string) string { return fmt.Sprintf(`%q.split(' ').map(key => ({key}))`, keys) }
	for _, test := range []struct{ a, b, want string }{
		{"1 2 end", "1 2 end", "11 22 endend"},
		{"1 2 3 end", "1 3 end", "11 2- 33 endend"},
		{"1 end", "1 2 3 end", "11 -2 -3 endend"},
		{"1 2 2.2 3", "1 2 3", "11 22 2.2- 33"},
	} {
		got := p.Eval(fmt.Sprintf(`align([%s, %s]).map(row => row.steps.map(s => s ? s.key : '-').join('')).join(' ')`, steps(test.a), steps(test.b)))
		assert.Equal(t, test.want, got, "%s beside %s", test.a, test.b)
	}
	for signs, want := range map[string]string{
		"a b b b c":     "1x1 1x3 1x1",
		"a b a b a b c": "2x3 1x1",
		"a a":           "1x1 1x1",
		"_ _ _":         "1x1 1x1 1x1", // nothing is like these
	} {
		got := p.Eval(fmt.Sprintf(`roundsOf(%q.split(' ').map(s => s === '_' ? '' : s), 6).map(r => r.length + 'x' + r.times).join(' ')`, signs))
		assert.Equal(t, want, got, signs)
	}
}

// explored is the page of breaking points of one lock, and diff that of two runs, in which cells differ, appeared and disappeared.
func explored(t *testing.T) (points, diff string) {
	t.Helper()
	dir := t.TempDir()
	lock, _ := impls.Find("setpx-del")
	_, err := lab.FindBreakingPoints(t.Context(), lab.PointsPlan{Locks: []impls.Spec{lock}, Results: lab.Results{Dir: filepath.Join(dir, "points")}})
	require.NoError(t, err)
	scripts, err := scenarios.Builtin("take-turns", "pause-past-lease", "holder-crashes")
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	var runs [2]*record.Run
	for i := range runs {
		runs[i], err = lab.Run(t.Context(), lab.Plan{
			Cases:   lab.Cases(scripts[i:i+2], []play.Subject{play.SubjectOf(lock)}, 1, lab.Expect(matrix)),
			Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: filepath.Join(dir, fmt.Sprint(i))}},
		})
		require.NoError(t, err)
	}
	runs[0].Cells[1].Verdict = checker.Verdict{Kind: checker.Safe}
	diff = filepath.Join(dir, "diff.html")
	cells := []lab.CellName{{Lock: "setpx-del", Scenario: "pause-past-lease"}, {Lock: "setpx-del", Scenario: "take-turns"}, {Lock: "setpx-del", Scenario: "holder-crashes"}}
	require.NoError(t, lab.WriteDiff(diff, cells, runs[0], runs[1], page.Diff{Lead: "1 changed, 1 appeared, 1 disappeared; 0 the same"}))
	return "file://" + filepath.Join(dir, "points", rundir.PageFile), "file://" + diff
}

// A reader goes from the table of breaking points to a counterexample and through its steps, and from a cell that differs to both runs side by side.
func TestCounterexamplesAndTwoRuns(t *testing.T) {
	p := browser.Open(t)
	p.Look(1280, 900, false)
	points, diff := explored(t)
	open(p, points, "")
	assert.Equal(t, "1G 1D", p.Eval(`document.querySelector('#grid td a[data-words*="in reply-lost"] span').textContent`), "an entry of the table")
	p.Eval(`document.querySelector('#grid td a[data-words*="in reply-lost"]').focus()`)
	p.Key("Enter")
	p.Wait(`document.querySelector('.stage .side')`)
	assert.Contains(t, p.Eval(`document.querySelector('.head').textContent`), "C1's SET got the lock, but C1's acquire ended without it.")
	p.Key("Home")
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "calls acquire")
	assert.Contains(t, p.Eval(`document.querySelector('.source li.running').textContent`), "TryAcquire", "its client is where the operation begins")
	p.Key(press)
	assert.Contains(t, p.Eval(`document.querySelector('.stage .servers').textContent`), "C1’s", "what the server has")
	p.Key("End")
	assert.Contains(t, p.Eval(`document.querySelector('.films').textContent`), "reply-lost", "the fault")
	p.Eval(`(s => { s.value = 2; s.dispatchEvent(new Event('input')); })(document.querySelector('.bar select'))`)
	p.Wait(`location.hash.includes('round=2') && document.querySelector('.head').textContent.includes('double-holder')`)

	open(p, diff, "")
	assert.Contains(t, p.Eval(`document.getElementById('grid').textContent`), "new: ✓")
	assert.Contains(t, p.Eval(`document.getElementById('grid').textContent`), "✓ → gone")
	p.Eval(`document.querySelector('#grid td a[data-words*="pause-past-lease"]').click()`)
	p.Wait(`document.querySelectorAll('.stage .side').length === 2`)
	assert.Equal(t, "setpx-del, old | setpx-del, new", p.Eval(`[...document.querySelectorAll('.head h2 > span:first-child')].map(x => x.textContent).join(' | ')`))
	open(p, diff, "#/take-turns/setpx-del")
	assert.Equal(t, 1., p.Eval(`document.querySelectorAll('.stage .side').length`), "one run has it")

	for name, url := range map[string]string{"points": points, "counterexample": points + "#/reply-lost/setpx-del", "diff": diff, "diff-cell": diff + "#/pause-past-lease/setpx-del"} {
		p.Looks(name, func() { open(p, url, "") })
	}
	assert.Empty(t, p.Errors())
}

// At no width and in no theme anything sticks out, and who does not see the page, or uses no mouse, has it as well.
func TestThePageFitsEveryScreen(t *testing.T) {
	p := browser.Open(t)
	url := tour(t)
	for name, place := range map[string]string{"matrix": "#na=1", "cell": "#/pause-past-lease/setpx-del", "redlock": "#/redis-restarts-empty/redlock", "alone": "#/pause-past-lease/setpx-del?beside=-&hide=1"} {
		p.Looks(name, func() { open(p, url, place) })
		p.Eval(`document.getElementById('large').click()`)
		p.Fits(name + "-projector")
		p.Eval(`document.getElementById('large').click()`)
	}
	p.Look(1920, 1080, false)
	open(p, url, "#na=1")
	assert.Equal(t, 0., p.Eval(`document.querySelector('.looks').getBoundingClientRect().right - document.querySelector('.findings').getBoundingClientRect().right`), "the buttons stand above the page's right edge")
	assert.Equal(t, true, p.Eval(`[...document.querySelectorAll('.anomaly')].every(a => a.getClientRects().length < 2)`), "no anomaly's name is broken at its hyphen")
	assert.NotContains(t, p.Eval(`document.getElementById('legend').textContent`), "n/a", "where cells are words, no signs are explained")
	p.Look(1280, 900, false)
	open(p, url, "#/pause-past-lease/setpx-del")
	names := `[...document.querySelectorAll('.names span')].every(s => s.scrollWidth <= s.clientWidth)`
	assert.Equal(t, true, p.Eval(names), "no lane's name is cut off")
	p.Look(1920, 1080, false)
	open(p, url, "#/redis-restarts-empty/redlock")
	p.Eval(`document.getElementById('large').click()`)
	assert.Equal(t, true, p.Eval(names), "nor on a projector")
	p.Eval(`document.getElementById('large').click()`)
	p.Look(1280, 900, false)
	open(p, url, "#/pause-past-lease/setpx-del")
	assert.Equal(t, true, p.Eval(`[...document.querySelectorAll('.film .when')].every(w => w.getBoundingClientRect().height < 60 && [...w.children].every(f => f.offsetTop < w.offsetTop + 12))`), "numbers stand beside the times")
	assert.Contains(t, p.Eval(`document.querySelector('.hint').textContent`), "above: setpx-del; below: setnx-del; red:")
	assert.Equal(t, "⚡ its request is held on the wire: SET counter 1", p.Eval(`faultWords({fault: 'hold', phase: 'effective', what: 'SET 152:counter 1'})`), "no cell's number")
	assert.Empty(t, p.Errors())
}

// The page of the tour is small enough to be sent by mail.
func TestTheToursPageIsSmall(t *testing.T) {
	info, err := os.Stat(tour(t)[len("file://"):])
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(400_000))
	t.Logf("%d bytes", info.Size())
}
