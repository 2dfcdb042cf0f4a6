package playground_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/browser"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/web/internal/playground"
)

// built is the page, made by the documented command.
func built(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./web/build", "-o", out)
	cmd.Dir = filepath.Join("..", "..", "..")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return filepath.Join(out, "index.html")
}

// visit opens a place of the page, as a file, and says how soon it could be used.
func visit(p *browser.Page, file, place string) time.Duration {
	p.Visit("about:blank")
	p.Visit("file://" + file + place)
	p.Wait("document.documentElement.dataset.ready")
	return time.Duration(p.Eval(`performance.getEntriesByName('ready')[0].startTime`).(float64)) * time.Millisecond
}

// turn leads the page, which is loaded by then, to another of its places.
func turn(p *browser.Page, place string) {
	p.Eval(fmt.Sprintf(`history.replaceState(null, '', %q); page.open()`, place))
}

// mostSearched is how many states a search may have that is made in the page, where it takes several times as long as outside. What others find is done by hand.
const mostSearched = 3_000

// searched waits until a search has ended, for as long as it goes on: several minutes at most.
func searched(p *browser.Page) {
	const mostWaits = 20
	for range mostWaits {
		if p.Eval(`new Promise(done => { const look = () => { if (document.getElementById('stop').hidden) { clearTimeout(late); watch.disconnect(); done(true); } };
			const watch = new MutationObserver(look), late = setTimeout(() => { watch.disconnect(); done(false); }, 15000);
			watch.observe(document.getElementById('stop'), {attributes: true}); look(); })`) == true {
			return
		}
	}
}

// link is the place of a walk.
func link(b breaking) string {
	kinds := make([]string, len(b.setup.Faults))
	for i, kind := range b.setup.Faults {
		kinds[i] = string(kind)
	}
	q := url.Values{"lock": {b.setup.Lock}, "clients": {fmt.Sprint(b.setup.Clients)}, "rounds": {fmt.Sprint(b.setup.Rounds)}, "most": {fmt.Sprint(b.setup.Most)}, "faults": {strings.Join(kinds, " ")}}
	return "#walk?" + q.Encode()
}

// The playground in a browser, from a file: nothing else is read, and nothing is written to the console.
func TestPlaygroundInABrowser(t *testing.T) {
	needs.Long(t, "builds the playground and drives a Chromium through it")
	p, file := browser.Open(t), built(t)
	p.Look(1280, 900, false)
	took := []time.Duration{visit(p, file, "")}

	t.Run("small", func(t *testing.T) {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		var sent bytes.Buffer
		z, err := gzip.NewWriterLevel(&sent, gzip.BestCompression)
		require.NoError(t, err)
		_, err = z.Write(page)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		assert.Less(t, sent.Len(), 3_500_000, "compressed")
		t.Logf("%d bytes compressed", sent.Len())
	})

	t.Run("each lock of the table breaks", func(t *testing.T) {
		l := playground.New()
		for _, b := range breakings(t) {
			p.Eval(fmt.Sprintf(`page.place = null; document.getElementById('status').textContent = ''; location.hash = %q`, link(b)))
			p.Wait(fmt.Sprintf(`page.place && page.place.made.length === 0 && page.state.lock === %q`, b.setup.Lock))
			outside := b.search(t, l)
			way := outside.ids(t)
			found := ask[answered](t, l, playground.Question{Do: "walk", Setup: b.setup, Choices: way}).Finding
			if outside.States < mostSearched {
				p.Eval(`document.getElementById('shortest').click()`)
				searched(p)
				p.Wait(`document.getElementById('status').textContent.startsWith('Yes') && document.querySelector('.head.broken')`)
			} else { // by hand
				for n, id := range way {
					p.Wait(fmt.Sprintf(`page.place.made.length === %d && document.querySelector('[data-id="%s"]')`, n, id))
					p.Eval(fmt.Sprintf(`document.querySelector('[data-id="%s"]').click()`, id))
				}
				p.Wait(fmt.Sprintf(`page.place.made.length === %d && document.querySelector('.head.broken')`, len(way)))
			}
			assert.Equal(t, strings.Join(way, " "), p.Eval(`page.state.choices.join(' ')`), b.setup.Lock)
			assert.Equal(t, found, p.Eval(`document.querySelector('.verdict').textContent`), b.setup.Lock)
			text := p.Eval(`document.querySelector('.symptoms').textContent`)
			for _, name := range b.names {
				assert.Contains(t, text, name, b.setup.Lock)
			}
		}
		assert.Empty(t, p.Errors())
	})

	t.Run("steps, back, beside and the source", func(t *testing.T) {
		turn(p, "#walk?lock=setpx-del")
		p.Eval(`document.querySelector('[data-id="call.0.0"]').focus()`)
		p.Key("Enter")
		p.Wait(`document.querySelector('[data-id="serve.0.0"]')`)
		assert.Equal(t, true, p.Eval(`document.activeElement.classList.contains('way')`), "the keyboard goes on from the next steps")
		assert.Contains(t, p.Eval(`document.querySelector('.source .runs').textContent`), `"SET"`, "the line that runs")
		p.Key("Backspace")
		p.Wait(`page.place.made.length === 0`)
		assert.Contains(t, p.Eval(`document.getElementById('now').textContent`), "the start")

		took = append(took, visit(p, file, "#walk?lock=setpx-del&beside=setpx-lua&steps="+url.QueryEscape("call.0.0 serve.0.0 reply.0.0 time.1201.1.0 call.1.0 serve.1.0 reply.1.0 call.0.0 serve.0.0 reply.0.0 serve.0.0 reply.0.0 call.0.0 serve.0.0")))
		assert.Equal(t, 2., p.Eval(`document.querySelectorAll('.stage .side').length`), "a link shows the same, two locks beside each other")
		heads := `[...document.querySelectorAll('.symptoms')].map(s => s.textContent.includes('wrongful-delete')).join()`
		assert.Equal(t, "true,false", p.Eval(heads))
		p.Key("ArrowLeft")
		assert.Contains(t, p.Eval(`document.getElementById('next').textContent`), "This is step 13 of 14")
		p.Eval(`document.querySelector('#next button').click()`)
		p.Wait(`page.place.made.length === 13`)
		p.Eval(`document.getElementById('restart').click()`)
		p.Wait(`page.place.made.length === 0`)
		assert.Empty(t, p.Errors())
	})

	t.Run("is there any, and stop", func(t *testing.T) {
		turn(p, "#walk?lock=setpx-lua&faults=crash&most=1")
		p.Eval(`document.getElementById('any').click()`)
		p.Wait(`document.getElementById('status').textContent.startsWith('No: it holds within these bounds')`)
		turn(p, "#walk?lock=setpx-lua&clients=4&rounds=3&most=3&faults="+url.QueryEscape("crash reply-lost late-request"))
		p.Eval(`document.getElementById('any').click()`)
		p.Wait(`document.getElementById('status').textContent.startsWith('Searching: ')`)
		p.Eval(`document.getElementById('stop').click()`)
		p.Wait(`document.getElementById('status').textContent.startsWith('The search was stopped')`)
		p.Eval(`document.querySelector('[data-id="call.0.0"]').click()`)
		p.Wait(`page.place.made.length === 1`)
		assert.Empty(t, p.Errors())
	})

	t.Run("a script is edited, played and shared", func(t *testing.T) {
		turn(p, "#play?lock=setpx-lua&scenario=pause-past-lease")
		first := p.Eval(`document.querySelector('.verdict').textContent`)
		edit := `(from, to) => { const s = document.getElementById('script'); s.value = s.value.replace(from, to); s.dispatchEvent(new Event('input')); document.getElementById('play-script').click(); }`
		p.Eval(`(` + edit + `)('C1  pause', 'C1  pauze')`)
		p.Wait(`document.querySelector('#lines b')`)
		assert.Equal(t, "13", p.Eval(`document.querySelector('#lines b').textContent`))
		assert.Contains(t, p.Eval(`document.getElementById('wrong').textContent`), "pauze")
		p.Eval(`(` + edit + `)('C1  pauze', '# nobody is paused')`)
		p.Eval(`(` + edit + `)('C1  resume', '# nor resumed')`)
		p.Eval(`(` + edit + `)('    wait until expired', '')`)
		p.Wait(`!document.querySelector('#lines b') && !document.getElementById('result').hidden`)
		p.Wait(fmt.Sprintf(`document.querySelector('.verdict').textContent !== %q`, first))
		second := p.Eval(`document.querySelector('.verdict').textContent`)
		p.Wait(`location.hash.includes('script=')`)
		place := p.Eval(`location.hash`).(string)
		took = append(took, visit(p, file, place))
		assert.Contains(t, p.Eval(`document.getElementById('script').value`), "# nobody is paused")
		assert.Equal(t, second, p.Eval(`document.querySelector('.verdict').textContent`))
		turn(p, place[:len(place)-20])
		assert.Contains(t, p.Eval(`document.getElementById('trouble').textContent`), "the link is not complete")
		assert.Empty(t, p.Errors())
	})

	t.Run("a sample of the suite", func(t *testing.T) {
		turn(p, "#play")
		l := playground.New()
		for _, cell := range []struct{ scenario, lock string }{{"holder-crashes", "setnx-del"}, {"pause-past-lease", "fenced"}, {"redis-restarts-empty", "redlock"}, {"take-turns", "zookeeper"}, {"stopped-between-check-and-delete", "setpx-lua"}} {
			text, _ := scenarios.Source(cell.scenario)
			want := ask[answered](t, l, playground.Question{Do: "play", Lock: cell.lock, Script: text})
			p.Eval(fmt.Sprintf(`page.go({mode: 'play', lock: %q, scenario: %q, script: null})`, cell.lock, cell.scenario))
			p.Wait(fmt.Sprintf(`document.querySelector('.head h2').textContent.startsWith(%q)`, cell.lock))
			assert.Equal(t, string(want.Kind), p.Eval(`document.querySelector('.head .tag').textContent`), "%v", cell)
		}
	})

	t.Run("a chapter is read, played, and read on", func(t *testing.T) {
		turn(p, "#read")
		p.Eval(`document.querySelector('#text a[href$="01-no-lock"]').click()`)
		at := func(chapter string) {
			p.Wait(fmt.Sprintf(`page.state.mode === 'read' && course.drawn === %q`, chapter))
		}
		at("en/01-no-lock")
		assert.Equal(t, false, p.Eval(`document.querySelector('#c1 details').open`), "the answer is folded")
		p.Eval(`document.querySelector('#c1 .act').focus()`)
		p.Key("Enter")
		p.Wait(`document.querySelector('.head h2') && document.querySelector('.head h2').textContent.startsWith('none')`)
		assert.Contains(t, p.Eval(`document.querySelector('.head').textContent`), "double-holder")
		assert.Equal(t, "last-item-two-requests", p.Eval(`document.getElementById('scenario').value`))
		shared := p.Eval(`location.hash`).(string)
		assert.Equal(t, "back", p.Eval(`document.activeElement.id`))
		p.Key("Enter")
		at("en/01-no-lock")
		assert.Equal(t, "#read?chapter=01-no-lock&at=c1", p.Eval(`location.hash`))
		inView := `(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector('#c1 .act').getBoundingClientRect())`
		assert.Equal(t, true, p.Eval(inView), "at the same place")
		assert.Equal(t, true, p.Eval(`document.querySelector('#c1 details').open`), "it has been played")

		p.Eval(`document.getElementById('tongue').click()`)
		at("zh-CN/01-no-lock")
		assert.Equal(t, true, p.Eval(inView), "at the same place in the other language")
		p.Eval(`document.getElementById('after').click()`)
		at("zh-CN/02-setnx-del")
		assert.Equal(t, 0., p.Eval(`scrollY`))
		p.Eval(`document.querySelector('#s3').scrollIntoView()`)
		p.Wait(`location.hash === '#read?chapter=02-setnx-del&lang=zh-CN&at=s3'`)
		p.Eval(`document.getElementById('before').click()`)
		at("zh-CN/01-no-lock")
		p.Eval(`(s => { s.value = 'which-lock'; s.dispatchEvent(new Event('input')); })(document.getElementById('chapter'))`)
		at("zh-CN/which-lock")
		assert.Equal(t, 36., p.Eval(`document.querySelectorAll('#text .act').length`), "a link for each cell")
		p.Eval(`history.back()`)
		at("zh-CN/01-no-lock")

		took = append(took, visit(p, file, shared))
		assert.Contains(t, p.Eval(`document.querySelector('.head').textContent`), "double-holder")
		p.Eval(`document.getElementById('mode-read').click()`)
		at("en/01-no-lock")
		assert.Equal(t, true, p.Eval(inView), "from a shared link, too")
		turn(p, "#read?chapter=13-none")
		assert.Contains(t, p.Eval(`document.getElementById('trouble').textContent`), "There is no chapter 13-none")
		assert.Empty(t, p.Errors())
	})

	t.Run("looks, and is soon ready", func(t *testing.T) {
		for name, place := range places() {
			turn(p, place)
			p.Looks("playground-"+name, nil)
		}
		t.Log("ready after", took)
		assert.Less(t, slices.Min(took), 3*time.Second, "the soonest: tests of other packages compute beside the others")
		assert.Empty(t, p.Errors())
	})
}

// places are what the page can look like.
func places() map[string]string {
	paused := url.QueryEscape("call.0.0 serve.0.0 reply.0.0 time.1201.1.0 call.1.0 serve.1.0 reply.1.0")
	return map[string]string{
		"start": "", "walk": "#walk?lock=setpx-del&steps=" + paused, "beside": "#walk?lock=setpx-del&beside=setpx-lua&steps=" + paused,
		"course": "#read", "cells": "#read?chapter=which-lock&lang=zh-CN&at=c1",
		"script": "#play?lock=setpx-del&beside=setpx-lua&scenario=pause-past-lease",
	}
}
