package conform_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/conform"
	"github.com/locklab/locklab/internal/scenarios/play"
)

func TestMain(m *testing.M) {
	lab.Serve()
	if len(os.Args) == 3 && os.Args[1] == withBug {
		serveBug(os.Args[2])
	}
	needs.SideBySide(6)
	os.Exit(m.Run())
}

// TestRulesAreOnThePage: each rule is a sentence of docs/tables/protocol.md, word for word.
func TestRulesAreOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "tables", "protocol.md"))
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

// TestEachCheckCanFail breaks the client of the kit for Python in one way after the other. The check that is about it fails, and quotes the protocol.
func TestEachCheckCanFail(t *testing.T) {
	for check, change := range map[string][2]string{ // what is replaced, and by what
		"open":                         {`threading.Thread(target=self.run, daemon=True).start()`, `threading.Thread(target=self.run, daemon=True).start(); self.lock.check()`},
		"acquire":                      {`self.redis.set(self.key, token`, `self.redis.set("mine:" + self.key, token`},
		"refused":                      {`held = self.redis.set(`, `held = self.redis.get(self.key) is not None or self.redis.set(`},
		"waits":                        {`until = time.monotonic() + `, `until = time.monotonic() + 0 * `},
		"release":                      {`RELEASE, 1, self.key, self.token) == 1`, `RELEASE, 1, self.key, self.token) >= 0`},
		"release-unheld":               {`RELEASE, 1, self.key, self.token) == 1`, `RELEASE, 1, self.key, self.token) >= 0`},
		"check":                        {`self.redis.get(self.key) == self.token`, `self.redis.get(self.key) != "x"`},
		"verbs":                        {`return said(False, error="unknown verb " + verb, unsupported=True)`, `return said(True)`},
		"work":                         {`self.resource.command(*(["EVAL", FENCED, 2, key + ":fence", key, fence] if fence is not None else ["SET", key]), fields["wrote"])`, `pass`},
		"workload":                     {`return said(False, error="unknown workload", unsupported=True)`, `return said(True)`},
		"order":                        {`self.operations = queue.Queue()`, `self.operations = queue.LifoQueue(); get = self.operations.get; self.operations.get = lambda: (time.sleep(0.2), get())[1]`},
		"handles":                      {`request.get("servers", client.init["servers"])`, `client.init["servers"]`},
		"close":                        {`getattr(self.lock, "close", lambda: None)()`, `self.lock.release()`},
		"exit":                         {`os._exit(0)`, `os._exit(3)`},
		"cancel-nothing":               {`said(False, error="not under way")`, `said(True)`},
		"cancel-waiting":               {`threading.Timer(GRACE if own else 0, self.break_off, [not own]).start()`, `self.handle.cut(True)`},
		"cancel-queued":                {`self.end(said(InterruptedError("cancelled before its turn")))`, `pass`},
		"cancel-acquire":               {`            proxy.cut(shut)`, `            pass`},
		"cancel-release":               {`            proxy.cut(shut)`, `            pass`},
		"cancel-check":                 {`            proxy.cut(shut)`, `            pass`},
		"cancel-work":                  {`hang_up(*filter(None, [self.handle.resource.sock]))`, `pass`},
		"work-after-cancel":            {`self.handle.resource.sock = None  # it was hung up`, `pass`},
		"reconnect-after-refusal":      {`for tries in range(5)`, `for tries in range(0)`},
		"reconnect-after-partition":    {`for tries in range(5)`, `for tries in range(0)`},
		"reconnect-after-lost-replies": {`for tries in range(5)`, `for tries in range(0)`},
		"broken-while-idle":            {`if verb == "reconnect" and verb in self.hello["verbs"]:`, "if verb == 'reconnect': return said(True)\n        if False:"},
		"silent-connection":            {`            proxy.cut(shut)`, `            pass`},
		"broken-amid-acquire":          {`fields = said(error)`, `fields = said(False)`},
		"time-outs":                    {`single_connection_client=True`, `single_connection_client=True, socket_timeout=2`},
		"errors":                       {`nx=True, px=int(self.lease * 1000)) is not None`, `nx=True, px=int(self.lease * 1000)) is not None or self.redis.type(self.key) == "list"`},
	} {
		t.Run(check, func(t *testing.T) {
			if !slices.Contains([]string{"refused", "cancel-waiting"}, check) {
				needs.Long(t, "a kit that is broken in one more way")
			}
			t.Parallel()
			t.Log(breachOfKit(t, check, change).What)
		})
	}
}

// TestALockOnSeveralServersIsGrantedByTheOthers: a lock may be granted by the other servers when its connection to one of them breaks.
func TestALockOnSeveralServersIsGrantedByTheOthers(t *testing.T) {
	dir := t.TempDir()
	kit, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "kits", "python", "locklab.py"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "locklab.py"), kit, 0o600))
	client := filepath.Join(dir, "client.py")
	require.NoError(t, os.WriteFile(client, []byte(`
import locklab, time

class Majority:
    def __init__(self, servers, key, lease):
        self.servers, self.key, self.lease = [locklab.Resource(server) for server in servers], key, lease

    def most(self, *words):
        done = 0
        for server in self.servers:
            try:
                done += server.command(*words) in ("OK", "1")
            except OSError:
                time.sleep(0.5)  # until others can be asked again
        return done > len(self.servers) // 2

    def acquire(self):
        return self.most("SET", self.key, "mine", "NX", "PX", int(self.lease * 1000))

    def release(self):
        return self.most("DEL", self.key)

locklab.serve(Majority, name="majority", servers="majority", promises=[])
`), 0o600))
	checked, err := lab.Conform(t.Context(), lab.Setting{}, play.Subject{Argv: []string{needs.RedisPy(t), client}}, "broken-amid-acquire")
	require.NoError(t, err)
	require.Len(t, checked.Results, 1)
	require.Nil(t, checked.Results[0].Breach)
	require.NotEmpty(t, checked.Results[0].Skipped)
}

// TestACancelThatIsNotRead: a client with one thread, which reads no further request during an operation, is told so.
func TestACancelThatIsNotRead(t *testing.T) {
	needs.Long(t, "a client that answers nothing for five seconds")
	waits := [2]string{`handle.operations.put(operation)  # its thread answers`, `handle.operations.put(operation); operation.cancelled.wait()`}
	breach := breachOfKit(t, "cancel-waiting", waits)
	require.Equal(t, "C2's cancel was not answered within 5s", breach.What)
	require.Contains(t, breach.Rule, "Read on while an operation waits for the server")
}

// TestACancelThatHitsAnotherOperation: a client that breaks off what it has under way where the lab names an operation that has been answered.
func TestACancelThatHitsAnotherOperation(t *testing.T) {
	needs.Long(t, "one more client goes through all checks")
	const asked = `return said(True) if operation and operation.cancel()`
	hits := [2]string{asked, `[one.cancel() for one in [*self.operations.values()] if not operation]; ` + asked}
	breach := breachOfKit(t, "work-after-cancel", hits)
	require.Contains(t, breach.What, "C1's work was answered unknown, not ok")
	require.Contains(t, breach.Rule, "A `cancel` of an operation that has been answered")
}

// TestAnswersInTheWrongOrder: clients whose connections the lab ends, which answer a cancel too early, or too late.
func TestAnswersInTheWrongOrder(t *testing.T) {
	needs.Long(t, "waits for what is answered too late")
	labCuts := [2]string{`    promises=["exclusion"`, `    lab_cuts=True, promises=["exclusion"`}
	early := [2]string{
		`return said(True) if operation and operation.cancel() else said(False, error="not under way")`,
		`return (write(id=request["id"], **said(True)), operation.cancel()) and None`,
	}
	breach := breachOfKit(t, "cancel-order", labCuts, early)
	require.Equal(t, "the cancel of C1's release, which waited for its turn, was answered before it", breach.What)
	require.Contains(t, breach.Rule, "A client answers an operation that waits for its turn before")

	late := [2]string{`            elif before == "runs":  # its thread answers`, `            elif before == "runs":
                self.end(said(InterruptedError("cancelled")))`}
	once := [2]string{`        self.all.pop(self.request["id"], None)`, `        if not self.all.pop(self.request["id"], None):
            return`}
	stays := [2]string{`self.handle.cut(shut)`, `pass`}
	breach = breachOfKit(t, "cancel-order", labCuts, late, once, stays)
	require.Equal(t, "C1's acquire was answered before its cancel, so its connections stayed, and the next one cannot run", breach.What)
	require.Contains(t, breach.Rule, "answers the `cancel` first: otherwise the connections stay")
}

// TestALocksBugIsNotItsAdapters: a release that removes the lock of another is the lock's bug, and so is an acquire that replaces it. No check lays it to
// the adapter, whatever the adapter can answer.
func TestALocksBugIsNotItsAdapters(t *testing.T) {
	needs.Long(t, "four clients go through all checks")
	for name, test := range map[string]struct {
		unheld string
		all    []string // the checks that say so
	}{
		"DEL":                {"C2's release was answered ok, and its del removed the lock that C1 held", []string{"release-unheld", "close"}},
		"DEL without a word": {"C2's release was answered ok, and its del removed the lock that C1 held", []string{"release", "release-unheld", "close"}},
		"a script":           {"C2's release was answered ok, and its eval removed the lock that C1 held", []string{"release-unheld", "close"}},
		"SET without NX": {"C2's set replaced the lock that C1 held", []string{
			"refused", "waits", "release-unheld", "handles", "close", "exit", "cancel-waiting", "cancel-queued", "work-after-cancel", "errors",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checked := conformance(t, []string{os.Args[0], withBug, name})
			var blamed []string
			for _, r := range checked.Results {
				assert.Nil(t, r.Breach, r.Name)
				if r.Lock != "" {
					blamed = append(blamed, r.Name)
				}
				if r.Name == "release-unheld" {
					assert.Equal(t, test.unheld, r.Lock)
				}
			}
			assert.Equal(t, test.all, blamed)
		})
	}
}

// TestTheEndOfAHoldIsTold: a client that promises ends-with-lease keeps to it by valid_ms, or by a notice of loss.
func TestTheEndOfAHoldIsTold(t *testing.T) {
	needs.Long(t, "waits for two leases")
	breach := breachOfKit(t, "ends-with-lease", [2]string{`promises=["exclusion"`, `promises=["ends-with-lease", "exclusion"`})
	require.Equal(t, "C1's acquire was answered ok without valid_ms, and neither valid_ms nor lost came within 4s of a lease of 2s", breach.What)
	require.Contains(t, breach.Rule, "its holder knows when the hold ends, even after a pause")
}

// breachOfKit is what a check says of the client of the kit for Python once parts of it have been replaced.
func breachOfKit(t *testing.T, check string, changes ...[2]string) *conform.Breach {
	t.Helper()
	dir, found := t.TempDir(), make([]bool, len(changes))
	for _, name := range []string{"client.py", "locklab.py"} {
		source, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "kits", "python", name))
		require.NoError(t, err)
		text := string(source)
		for i, change := range changes {
			found[i] = found[i] || strings.Contains(text, change[0])
			text = strings.ReplaceAll(text, change[0], change[1])
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for i, change := range changes {
		require.True(t, found[i], "the kit no longer says %s", change[0])
	}
	checked := conformance(t, []string{needs.RedisPy(t), filepath.Join(dir, "client.py")}, check)
	require.Len(t, checked.Results, 1)
	require.NotNil(t, checked.Results[0].Breach, "%+v", checked.Results[0])
	return checked.Results[0].Breach
}

// conformance is what checks, or all, say of a client.
func conformance(t *testing.T, argv []string, checks ...string) lab.Conformance {
	t.Helper()
	run := func(checks ...string) lab.Conformance {
		checked, err := lab.Conform(context.Background(), lab.Setting{}, play.Subject{Argv: argv}, checks...)
		require.NoError(t, err)
		return checked
	}
	checked := run(checks...)
	for i := range checked.Results {
		for range 3 { // the host stalled, by the lab's own measure, which says nothing about the client: as a run does, play it again
			if r := &checked.Results[i]; strings.HasPrefix(r.Skipped, "undecided: ") {
				*r = run(r.Name).Results[0]
			}
		}
	}
	return checked
}
