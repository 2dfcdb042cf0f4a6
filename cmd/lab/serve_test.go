package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/cmd/lab/internal/run"
	chromium "github.com/locklab/locklab/internal/browser"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/serve"
)

// serving starts lab serve in an empty directory, and returns its address. It must end within the test.
func serving(t *testing.T, args ...string) (url, dir string, cmd *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	cmd = exec.CommandContext(t.Context(), "lab", append([]string{"serve"}, args...)...)
	cmd.Dir = dir
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	url, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url), dir, cmd
}

// endsByCtrlC presses it, and waits for the end.
func endsByCtrlC(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 130, exit.ExitCode())
}

// A reader has a scenario run by the button, watches it, and walks through its steps; then a storm, which is stopped.
func TestServeInABrowser(t *testing.T) {
	needs.Long(t, "runs by a button in a Chromium")
	url, _, cmd := serving(t)
	p := chromium.Open(t)
	p.Look(1280, 900, false)
	p.Visit(url)
	p.Wait("document.documentElement.dataset.ready")
	assert.NotContains(t, p.Eval("location.href"), "token")
	assert.Contains(t, p.Eval(`document.body.textContent`), "There is no run in runs yet.")
	assert.Equal(t, "The holder is paused for longer than its lease and then continues.", p.Eval(`document.getElementById('about-scenario').textContent`))

	follow := func(act string) {
		p.Follow(act)
		p.Wait("document.documentElement.dataset.ready")
	}
	fill := func(form, field, value string) {
		p.Eval(fmt.Sprintf(`(f => { f.elements[%q].value = %q; f.dispatchEvent(new Event('input')); })(document.getElementById(%q))`, field, value, form))
	}
	press := func(form string) { p.Eval(fmt.Sprintf(`document.querySelector('#%s .go').click()`, form)) }
	fill("scenario-form", "scenario", "kleppmann")
	press("scenario-form")
	p.Wait(`!document.getElementById('problem').hidden`)
	assert.Contains(t, p.Eval(`document.getElementById('problem').textContent`), "pause-past-lease", "an unknown name leads to the scenario")
	screens(t, p, "serve-unknown")

	fill("scenario-form", "scenario", "pause-past-lease")
	fill("scenario-form", "world", lab.Live)
	p.Eval(`new MutationObserver(() => { sessionStorage.seen = document.getElementById('ended').textContent + document.getElementById('far').textContent; }).observe(document.getElementById('live'), {subtree: true, childList: true})`)
	follow(`document.querySelector('#scenario-form .go').click()`)
	assert.Contains(t, p.Eval(`location.pathname`), "/runs/")
	seen := p.Eval(`sessionStorage.seen`)
	assert.Contains(t, seen, "setpx-del / pause-past-lease broken", "it is shown while it runs")
	assert.Contains(t, seen, "0 surprises")
	p.Eval(`document.querySelector('#grid td a[data-words^="setpx-del in pause-past-lease"]').click()`)
	p.Wait(`document.querySelector('.stage .side')`)
	assert.Contains(t, p.Eval(`document.querySelector('.head').textContent`), "the cause")
	p.Key("Home")
	p.Key("ArrowRight")
	assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "2 / ")
	screens(t, p, "serve-cell")

	follow(`[...document.querySelectorAll('a')].find(a => a.textContent === 'Run again').click()`)
	assert.Equal(t, "setpx-del", p.Eval(`document.getElementById('scenario-form').lock.value`))
	assert.Equal(t, 1., p.Eval(`document.querySelectorAll('.list li').length`))
	follow(`document.querySelector('#scenario-form .go').click()`)
	assert.Contains(t, p.Eval(`location.hash`), "#/pause-past-lease/setpx-del", "the only cell is shown at once")
	p.Wait(`document.querySelector('.stage .side')`)

	follow(`location.assign('/')`)
	fill("storm-form", "for", "5m")
	press("storm-form")
	p.Wait(`/for \d/.test(document.getElementById('far').textContent)`)
	screens(t, p, "serve-storm")
	p.Eval(`document.getElementById('stop').click()`)
	p.Wait(`document.querySelector('#far a')`)
	assert.Contains(t, p.Eval(`document.getElementById('live-head').textContent`), "Stopped: lab storm")
	screens(t, p, "serve-stopped")
	follow(`document.querySelector('#far a').click()`)
	assert.Contains(t, p.Eval(`document.querySelector('.alarm').textContent`), "interrupted")
	follow(`location.assign('/')`)
	assert.Equal(t, 3., p.Eval(`document.querySelectorAll('.list li').length`))
	screens(t, p, "serve-list")

	assert.Len(t, p.Errors(), 1, "the browser's own line about the order that was refused")
	endsByCtrlC(t, cmd)
}

// screens looks at the page in every size and theme, and has axe-core look at it.
func screens(t *testing.T, p *chromium.Page, name string) {
	t.Helper()
	for _, size := range [][2]int{{400, 850}, {1024, 768}, {1280, 900}, {1920, 1080}} {
		for _, dark := range []bool{true, false} {
			p.Look(size[0], size[1], dark)
			assert.Equal(t, true, p.Eval(`document.documentElement.scrollWidth <= innerWidth`), "%s at %d", name, size[0])
			if dir := os.Getenv("LOCKLAB_SCREENSHOTS"); dir != "" {
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-dark=%v.png", name, size[0], dark)), p.Screenshot(), 0o644))
			}
		}
	}
	p.Look(1280, 900, false)
	if axe := os.Getenv("LOCKLAB_AXE"); axe != "" {
		text, err := os.ReadFile(axe)
		require.NoError(t, err)
		p.Eval(string(text) + "; 0")
		assert.Equal(t, "", p.Eval(`axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')).join('\n'))`), name)
	}
}

// Ctrl-C ends lab serve and the storm that it runs, of which what was known so far is kept.
func TestCtrlCEndsWhatServeHasStarted(t *testing.T) {
	needs.Long(t, "interrupts a storm that a browser ordered")
	url, dir, cmd := serving(t, "--no-open")
	order, err := json.Marshal(serve.Order{Kind: serve.Storm, Lock: "setpx-del", For: "5m"})
	require.NoError(t, err)
	started := ask(t, url, "POST", "start", order)
	require.Equal(t, http.StatusAccepted, started.StatusCode)
	require.NoError(t, started.Body.Close())
	events := ask(t, url, "GET", "events", nil)
	defer events.Body.Close()
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.Contains(lines.Text(), `"storm-goes-on"`) {
	}
	endsByCtrlC(t, cmd)
	assert.Empty(t, leftBehind(dir))
	saved, err := lab.ReadRun(filepath.Join(dir, "runs", "latest"))
	require.NoError(t, err)
	assert.False(t, saved.Finished)
	assert.FileExists(t, filepath.Join(saved.Dir, "report.html"))
	assert.Equal(t, []string{"storm", "--for", "5m", "--lock", "setpx-del"}, saved.Command)
}

// What a browser asks for is what the command line would run, and a mistake in it is found before anything is started.
func TestRequests(t *testing.T) {
	request := func(lock string) run.Request {
		r := run.Request{Results: option.Results{Runs: "elsewhere"}, Lock: lock}
		r.Where.Bind(cli.FlagSet())
		return r
	}
	for _, world := range []string{lab.Sim, lab.Live} {
		plan, err := request("setpx-del").Scenario("take-turns", world)
		require.NoError(t, err)
		assert.Equal(t, "elsewhere", filepath.Dir(plan.Results.Dir))
		assert.Equal(t, []string{"run", "take-turns", "--world", world, "--lock", "setpx-del"}, plan.Command)
	}
	plan, err := request("setpx-del").Storm("10s")
	require.NoError(t, err)
	assert.Equal(t, "elsewhere", filepath.Dir(plan.Results.Dir))

	url, _, cmd := serving(t, "--no-open")
	for _, test := range []struct {
		order serve.Order
		want  string // in the error
	}{
		{serve.Order{Kind: serve.Scenario, Scenario: "kleppmann", World: lab.Sim}, "pause-past-lease"},
		{serve.Order{Kind: serve.Scenario, World: lab.Sim}, "unknown scenario"},
		{serve.Order{Kind: serve.Scenario, Scenario: "take-turns", World: lab.Sim, Lock: "setpxdel"}, `did you mean "setpx-del"`},
		{serve.Order{Kind: serve.Scenario, Scenario: "take-turns", World: "moon"}, "unknown world"},
		{serve.Order{Kind: serve.Storm, For: "10s"}, "name a lock"},
		{serve.Order{Kind: serve.Storm, Lock: "setpx-del", For: "long"}, "a duration such as 30s"},
		{serve.Order{Kind: serve.Storm, Lock: "setpx-del", For: "100h"}, "--for must be"},
		{serve.Order{Kind: "bench"}, "unknown order"},
	} {
		text, err := json.Marshal(test.order)
		require.NoError(t, err)
		refused := ask(t, url, "POST", "start", text)
		said, err := io.ReadAll(refused.Body)
		require.NoError(t, errors.Join(err, refused.Body.Close()))
		assert.Equal(t, http.StatusBadRequest, refused.StatusCode)
		assert.Contains(t, string(said), test.want)
	}
	endsByCtrlC(t, cmd)
}

// ask asks a lab serve.
func ask(t *testing.T, url, method, path string, body []byte) *http.Response {
	t.Helper()
	base, token, ok := strings.Cut(url, "?token=")
	require.True(t, ok)
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	return got
}

// lab open prints where the newest report is, or says what to do.
func TestOpen(t *testing.T) {
	t.Chdir(t.TempDir())
	open := func(want int) (string, string) {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, want, carryOut(t.Context(), []string{"open"}, strings.NewReader(""), &stdout, &stderr))
		return stdout.String(), stderr.String()
	}
	_, said := open(cli.CodeNothing)
	assert.Contains(t, said, "there is no report in runs; lab run makes one")
	for n, page := range []string{"a/report.html", "bench-b/bench.html"} {
		page = filepath.Join("runs", page)
		require.NoError(t, os.MkdirAll(filepath.Dir(page), 0o755))
		require.NoError(t, os.WriteFile(page, nil, 0o644))
		written := time.Now().Add(time.Duration(n) * time.Hour)
		require.NoError(t, os.Chtimes(page, written, written))
		shown, _ := open(cli.CodeExpected)
		assert.Equal(t, page+"\n", shown)
	}
}
