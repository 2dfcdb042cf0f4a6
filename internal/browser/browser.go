// Package browser drives a headless Chromium in tests, by the DevTools protocol over a pipe.
//
// It owns the process and the protocol. It must not know a page of the lab. A test without a Chromium is skipped, or fails if LOCKLAB_REQUIRE names chromium.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/needs"
)

// patience bounds each answer of the browser, and each wait.
const patience = 30 * time.Second

// Page is a tab.
type Page struct {
	t       testing.TB
	to      io.Writer
	session string

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	errors  []string
	loaded  chan struct{}
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	answer
}

type answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Open starts a browser with an empty page, where tests run in full. Both end with the test.
func Open(t testing.TB) *Page {
	t.Helper()
	needs.Long(t, "a browser")
	path, err := find()
	needs.Part(t, "chromium", err)
	fromUs, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBrowser, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
		"--hide-scrollbars", "--no-first-run", "--no-startup-window", "--disable-ipc-flooding-protection", "--remote-debugging-pipe", "--user-data-dir="+home)
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // 3 and 4
	cmd.Env = append(os.Environ(), "HOME="+home)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = fromUs.Close(), toUs.Close()
	p := &Page{t: t, to: toBrowser, waiting: map[int]chan answer{}, loaded: make(chan struct{}, 16)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read(fromBrowser)
	}()
	t.Cleanup(func() {
		p.send("", "Browser.close", nil)
		_ = toBrowser.Close()
		_ = cmd.Wait()
		<-read
		_ = fromBrowser.Close()
	})
	p.attach()
	return p
}

// find prefers the shell: it draws pages as Chromium does, but no window, tabs and address around them.
func find() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no chromium")
}

// attach opens a tab, and asks to hear of what goes wrong in it.
func (p *Page) attach() {
	var target struct{ TargetID string }
	p.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"} {
		p.call(p.session, domain, nil, nil)
	}
}

// read takes the browser's messages, each ended by a zero byte.
func (p *Page) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			p.mu.Lock()
			for id, wait := range p.waiting {
				close(wait)
				delete(p.waiting, id)
			}
			p.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) == nil {
			p.take(m, text)
		}
	}
}

func (p *Page) take(m message, text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "":
		if wait := p.waiting[m.ID]; wait != nil {
			wait <- m.answer
			delete(p.waiting, m.ID)
		}
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.exceptionThrown", "Log.entryAdded":
		p.errors = append(p.errors, string(text))
	case "Runtime.consoleAPICalled":
		var said struct{ Type string }
		if json.Unmarshal(m.Params, &said) == nil && (said.Type == "error" || said.Type == "warning") {
			p.errors = append(p.errors, string(text))
		}
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &sent) == nil && !local(sent.Request.URL) {
			p.errors = append(p.errors, "request to "+sent.Request.URL)
		}
	}
}

// local says whether an address leaves the machine alone.
func local(url string) bool {
	for _, scheme := range []string{"file:", "data:", "about:", "blob:", "http://127.0.0.1:", "http://localhost:"} {
		if len(url) >= len(scheme) && url[:len(scheme)] == scheme {
			return true
		}
	}
	return false
}

func (p *Page) send(session, method string, params any) chan answer {
	text, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	if params == nil {
		text = []byte("{}")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	wait := make(chan answer, 1)
	p.waiting[p.last] = wait
	out, err := json.Marshal(message{ID: p.last, Method: method, Params: text, SessionID: session})
	if err == nil {
		_, err = p.to.Write(append(out, 0))
	}
	if err != nil {
		wait <- answer{}
	}
	return wait
}

func (p *Page) call(session, method string, params, result any) {
	p.t.Helper()
	if err := p.try(session, method, params, result); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Page) try(session, method string, params, result any) error {
	select {
	case a, ok := <-p.send(session, method, params):
		switch {
		case !ok:
			return fmt.Errorf("browser: %s: it has ended", method)
		case a.Error != nil:
			return fmt.Errorf("browser: %s: %s", method, a.Error.Message)
		case result != nil:
			return json.Unmarshal(a.Result, result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("browser: %s: no answer", method)
	}
}

// Visit loads a page, and waits until it has been.
func (p *Page) Visit(url string) {
	p.t.Helper()
	p.load(url, func() { p.call(p.session, "Page.navigate", map[string]any{"url": url}, nil) })
}

// Follow does what leads to another page, sooner or later, and waits until that has been loaded.
func (p *Page) Follow(act string) {
	p.t.Helper()
	p.load(act, func() { p.Eval("setTimeout(() => {" + act + "}), 0") })
}

func (p *Page) load(what string, act func()) {
	p.t.Helper()
	for len(p.loaded) > 0 {
		<-p.loaded
	}
	act()
	select {
	case <-p.loaded:
	case <-time.After(patience):
		p.t.Fatalf("browser: %s: no page was loaded", what)
	}
}

// Eval is the value of an expression in the page, which may be a promise.
func (p *Page) Eval(expression string) any {
	p.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &got)
	if e := got.ExceptionDetails; e != nil {
		p.t.Fatalf("browser: %s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return got.Result.Value
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ok := p.Eval(fmt.Sprintf(`new Promise(done => { const end = Date.now() + %d; const look = () => (%s) ? done(true) : Date.now() > end ? done(false) : requestAnimationFrame(look); look(); })`,
		(patience / 2).Milliseconds(), expression))
	if ok != true {
		p.t.Fatalf("browser: it did not come to %s: %q", expression, p.Errors())
	}
}

// Key presses a key, by its DOM name: "ArrowRight", " ", "Enter".
func (p *Page) Key(key string) {
	p.t.Helper()
	params := map[string]any{"type": "keyDown", "key": key, "code": key}
	if code, known := map[string]int{"Enter": 13, "Tab": 9, " ": 32, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]; known {
		params["windowsVirtualKeyCode"] = code
	}
	if key == "Enter" {
		params["text"] = "\r"
	} else if len(key) == 1 {
		params["text"] = key
	}
	p.call(p.session, "Input.dispatchKeyEvent", params, nil)
	params["type"] = "keyUp"
	delete(params, "text")
	p.call(p.session, "Input.dispatchKeyEvent", params, nil)
}

// Type writes text where the focus is.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.call(p.session, "Input.insertText", map[string]any{"text": text}, nil)
}

// Look sets the size of the window and the theme that the system has.
func (p *Page) Look(width, height int, dark bool) {
	p.t.Helper()
	p.call(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	theme := "light"
	if dark {
		theme = "dark"
	}
	p.call(p.session, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}, nil)
}

// Screenshot is what the window shows, as PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return png
}

// PDF is the page as it is printed.
func (p *Page) PDF() []byte {
	p.t.Helper()
	var printed struct{ Data string }
	p.call(p.session, "Page.printToPDF", map[string]any{"printBackground": true}, &printed)
	pdf, err := base64.StdEncoding.DecodeString(printed.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return pdf
}

// Errors are what went wrong in the page so far: exceptions, messages in the console, and requests to elsewhere.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.errors...)
}

// Looks goes through the sizes and themes of a page as it stands, or as load shows it on a phone: nothing sticks out, and axe-core finds nothing.
// LOCKLAB_SCREENSHOTS names a directory for what it looks like, and LOCKLAB_AXE the file of axe-core.
func (p *Page) Looks(name string, load func()) {
	p.t.Helper()
	for n, size := range [][2]int{{400, 850}, {1024, 768}, {1280, 900}, {1920, 1080}} {
		for _, dark := range []bool{false, true} {
			p.Look(size[0], size[1], dark)
			if load != nil && n == 0 && !dark { // from then on the page follows its window
				load()
			}
			p.Eval(`new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => drawn(1))))`)
			p.Fits(fmt.Sprintf("%s-%d-dark=%v", name, size[0], dark))
			if size[0] == 1280 {
				p.examine(name)
			}
		}
	}
}

// Fits checks that nothing sticks out, and keeps a screenshot.
func (p *Page) Fits(name string) {
	p.t.Helper()
	if p.Eval(`document.documentElement.scrollWidth <= innerWidth`) != true {
		p.t.Errorf("browser: %s: something is wider than the window", name)
	}
	dir := os.Getenv("LOCKLAB_SCREENSHOTS")
	if dir == "" {
		return
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), p.Screenshot(), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// examine has axe-core look at the page, if there is one: who does not see it, or uses no mouse, has it as well.
func (p *Page) examine(name string) {
	p.t.Helper()
	file := os.Getenv("LOCKLAB_AXE")
	if file == "" {
		return
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Eval(`window.axe ? 0 : (() => {` + string(axe) + `})()`)
	if found := p.Eval(`axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')).join('\n'))`); found != "" {
		p.t.Errorf("browser: %s: %v", name, found)
	}
}
