package conform_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/racing"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios/conform"
	"github.com/locklab/locklab/scenarios/play"
)

func TestMain(m *testing.M) {
	lab.Serve()
	os.Exit(m.Run())
}

// TestRulesAreOnThePage: each rule is a sentence of docs/protocol.md, word for word.
func TestRulesAreOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocol.md"))
	require.NoError(t, err)
	source, err := os.ReadFile("rules.go")
	require.NoError(t, err)
	text := oneLine(string(page))
	rules := regexp.MustCompile(`rule\w+ += ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(rules), 25)
	for _, rule := range rules {
		assert.Contains(t, text, oneLine(strings.Trim(rule[1], `"`)))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestEachCheckCanFail breaks the example client in one way after the other. The check that is about it fails, and quotes the protocol.
func TestEachCheckCanFail(t *testing.T) {
	if racing.Enabled {
		t.Skip("the clients are processes without a race detector")
	}
	python := needs.RedisPy(t)
	source, err := os.ReadFile(filepath.Join("..", "..", "adapters", "python", "setpx_lua.py"))
	require.NoError(t, err)
	for check, change := range map[string][2]string{ // what is replaced, and by what
		"open":                {`threading.Thread(target=self.run, daemon=True).start()`, `threading.Thread(target=self.run, daemon=True).start(); self.server.get(request["key"])`},
		"acquire":             {`"SET", self.key, token`, `"SET", "mine:" + self.key, token`},
		"refused":             {`held = self.command(`, `held = self.command("GET", self.key) is not None or self.command(`},
		"waits":               {`until = time.monotonic() + `, `until = time.monotonic() + 0 * `},
		"release":             {`RELEASE, 1, self.key, self.token) == 1`, `RELEASE, 1, self.key, self.token) >= 0`},
		"release-unheld":      {`RELEASE, 1, self.key, self.token) == 1`, `'return redis.call("DEL", KEYS[1])', 1, self.key) == 1`},
		"check":               {`self.command("GET", self.key) == self.token`, `self.command("GET", self.key) != "x"`},
		"verbs":               {`return {"outcome": "no", "unsupported": True, "error": "unknown verb " + verb}`, `return said(True)`},
		"work":                {`return self.write(read, read + 1, ("SET", key, read + 1))`, `return self.write(read, read + 1)`},
		"workload":            {`if workload not in WORKLOADS:`, `if workload not in WORKLOADS: return said(True)` + "\n        if False:"},
		"order":               {`self.operations = queue.Queue()`, `self.operations = queue.LifoQueue(); get = self.operations.get; self.operations.get = lambda: (time.sleep(0.2), get())[1]`},
		"handles":             {`request.get("servers", [client.server])[0]`, `client.server`},
		"close":               {`self.disconnect()  # close`, `self.lock.release()`},
		"exit":                {`os._exit(0)`, `os._exit(3)`},
		"cancel-nothing":      {`return {"outcome": "no", "error": "this operation is not under way"}`, `return said(True)`},
		"cancel-waiting":      {"operation):\n        operation.given_up.set()", "operation):\n        return"},
		"cancel-acquire":      {`hang_up(self.server)`, `pass`},
		"cancel-release":      {`hang_up(self.server)`, `pass`},
		"cancel-check":        {`hang_up(self.server)`, `pass`},
		"cancel-work":         {`hang_up(self.resource)`, `pass`},
		"broken-amid-acquire": {`fields = {"outcome": "unknown", "error": repr(error)}`, `fields = {"outcome": "no", "error": repr(error)}`},
		"time-outs":           {`socket_timeout=self.timeout`, `socket_timeout=2`},
		"errors":              {`held = self.command("SET", self.key, token, "NX", "PX", int(self.lease_ms)) is not None`, `held = self.command("SET", self.key, token, "NX", "PX", int(self.lease_ms)) is not None or self.command("TYPE", self.key) == "list"`},
	} {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(source), change[0])
			path := filepath.Join(t.TempDir(), "client.py")
			require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(source), change[0], change[1])), 0o600))
			checked, err := lab.Conform(context.Background(), lab.Setting{}, play.Subject{Argv: []string{python, path}}, check)
			require.NoError(t, err)
			require.Len(t, checked.Results, 1)
			require.NotNil(t, checked.Results[0].Breach, "skipped: %s", checked.Results[0].Skipped)
			t.Log(checked.Results[0].Breach.What)
		})
	}
}

// TestASoundClientPasses: the example client keeps to the protocol.
func TestASoundClientPasses(t *testing.T) {
	argv := []string{needs.RedisPy(t), filepath.Join("..", "..", "adapters", "python", "setpx_lua.py")}
	checked, err := lab.Conform(t.Context(), lab.Setting{}, play.Subject{Argv: argv})
	require.NoError(t, err)
	assert.Len(t, checked.Results, len(conform.Checks()))
	for _, r := range checked.Results {
		assert.Nil(t, r.Breach, r.Name)
	}
}
