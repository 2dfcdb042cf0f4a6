package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// browser is a headless Chromium that is spoken to by a pipe, in its own protocol.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	id      int
	errors  []string // what the page has reported as an error
}

// message is one of the protocol, of either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// openBrowser starts a browser with one page; the test is skipped where there is none.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := needs.Program(t, "chromium", "chromium")
	toRead, in, err := os.Pipe()
	require.NoError(t, err)
	out, toWrite, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{toRead, toWrite}
	require.NoError(t, cmd.Start())
	toRead.Close()
	toWrite.Close()
	require.NoError(t, out.SetReadDeadline(time.Now().Add(time.Minute)))
	b := &browser{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(func() {
		in.Close() // a browser ends with its pipe
		_ = cmd.Wait()
		out.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call calls a method and reads its result.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.id++
	text, err := json.Marshal(params)
	require.NoError(b.t, err)
	if params == nil {
		text = []byte("{}")
	}
	text, err = json.Marshal(message{ID: b.id, Session: b.session, Method: method, Params: text})
	require.NoError(b.t, err)
	_, err = b.in.Write(append(text, 0))
	require.NoError(b.t, err)
	answer := b.until(func(m message) bool { return m.ID == b.id })
	require.Empty(b.t, string(answer.Error), method)
	if result != nil {
		require.NoError(b.t, json.Unmarshal(answer.Result, result))
	}
}

// until reads messages up to the one that is awaited, and notes errors of the page.
func (b *browser) until(awaited func(message) bool) message {
	b.t.Helper()
	for {
		text, err := b.out.ReadBytes(0)
		require.NoError(b.t, err)
		var m message
		require.NoError(b.t, json.Unmarshal(text[:len(text)-1], &m))
		var said struct {
			Type  string
			Entry struct{ Level string }
		}
		_ = json.Unmarshal(m.Params, &said)
		if m.Method == "Runtime.exceptionThrown" || m.Method == "Runtime.consoleAPICalled" && said.Type == "error" || m.Method == "Log.entryAdded" && said.Entry.Level == "error" {
			b.errors = append(b.errors, string(m.Params))
		}
		if awaited(m) {
			return m
		}
	}
}

// open opens an address and waits until the page has loaded.
func (b *browser) open(url string) {
	b.t.Helper()
	var opened struct{ ErrorText string }
	b.call("Page.navigate", map[string]any{"url": url}, &opened)
	require.Empty(b.t, opened.ErrorText, url)
	for ready := ""; ready != "complete"; { // each question waits for the page
		b.eval("document.readyState", &ready)
	}
}

// eval evaluates an expression on the page.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &result)
	require.Empty(b.t, string(result.ExceptionDetails), expression[:min(200, len(expression))])
	require.NoError(b.t, json.Unmarshal(result.Result.Value, value), fmt.Sprintf("%s of %.200s", result.Result.Value, expression))
}
