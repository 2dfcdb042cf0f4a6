package adapters_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/adapters"
	"github.com/locklab/locklab/internal/adaptertest"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

func TestMain(m *testing.M) {
	lab.Serve()
	os.Exit(m.Run())
}

// root is where the sources begin.
var root = filepath.Join("..", "..")

// together is how many clients are greeted at a time.
const together = 4

// TestAdapters: each client can be started as the list says, introduces itself as the list says, and takes turns.
func TestAdapters(t *testing.T) {
	needs.Long(t, "builds the clients of published libraries")
	t.Chdir(root) // paths of the list begin there
	needs.Program(t, "redis", "redis-server")
	var mu sync.Mutex
	subjects := map[string][]play.Subject{} // by server
	greet := atMost(together)
	scripts, err := scenarios.Builtin("take-turns")
	require.NoError(t, err)
	built := map[string]bool{}
	for _, a := range adapters.All() {
		if a.Table != "" { // a module with a test of its own
			continue
		}
		if why := prepare(t, a, built); why != "" {
			t.Log(a.Name, "is passed over:", why)
			continue
		}
		greet(func() {
			at := cmp.Or(a.Server, live.RedisServer)
			subject, err := lab.Meet(t.Context(), lab.Setting{Server: at}, play.Subject{Argv: []string{"/bin/sh", "-c", "exec " + a.Here()}}, scripts...)
			if !assert.NoError(t, err, a.Name) {
				return
			}
			assert.Equal(t, a.Name, subject.Name)
			assert.Contains(t, subject.Spec.Idea, a.Library)
			mu.Lock()
			defer mu.Unlock()
			subjects[at] = append(subjects[at], subject)
		})
	}
	greet(nil)
	if len(subjects) == 0 {
		t.Skip("no adapter can run here")
	}
	for at, some := range subjects {
		run, err := lab.Run(t.Context(), lab.Plan{Cases: lab.Cases(scripts, some, 1, lab.Expect(nil)), Options: lab.Options{Setting: lab.Setting{Server: at}}})
		require.NoError(t, err)
		for _, cell := range run.Cells {
			assert.Equal(t, checker.Safe, cell.Verdict.Kind, "%s/%s: %s", cell.Lock, cell.Scenario, cell.Verdict)
		}
	}
}

// atMost runs functions, n at a time. Called with nil, it waits for all of them.
func atMost(n int) func(func()) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, n)
	return func(do func()) {
		if do == nil {
			wg.Wait()
			return
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do()
		})
	}
}

// prepare makes what a client needs, if that takes a moment, and says what is missing, unless LOCKLAB_REQUIRE names that.
func prepare(t *testing.T, a adapters.Adapter, built map[string]bool) string {
	t.Helper()
	if need := a.Lacks(); need != "" {
		return required(t, need.Part(), fmt.Sprintf("no %s", need))
	}
	switch {
	case built[a.Prepare]:
	case slices.Contains(a.Needs, adapters.NeedsGo):
		out, err := exec.Command("/bin/sh", "-c", a.Prepare).CombinedOutput()
		if err != nil && strings.Contains(string(out), "dial tcp") {
			return "the libraries cannot be downloaded here"
		}
		require.NoError(t, err, "%s\n%s", a.Prepare, out)
		built[a.Prepare] = true
	case a.Made != "":
		if _, err := os.Stat(filepath.FromSlash(a.Made)); err != nil {
			return required(t, "node", a.Made+" is not there; "+a.Prepare)
		}
	}
	return ""
}

// required fails if LOCKLAB_REQUIRE names what is missing, and else says why.
func required(t *testing.T, what, why string) string {
	t.Helper()
	if needs.Required(what) {
		t.Fatal(why)
	}
	return why
}

// TestList: names are unique, and each command, with what it needs, is there.
func TestList(t *testing.T) {
	t.Chdir(filepath.Join(root, "adapters"))
	names := map[string]bool{}
	for _, a := range adapters.All() {
		assert.False(t, names[a.Name], a.Name)
		names[a.Name] = true
		found, ok := adapters.Find(a.Name)
		assert.True(t, ok)
		assert.Equal(t, a, found)
		script := strings.TrimPrefix(strings.Fields(a.Command)[len(strings.Fields(a.Command))-1], "adapters/")
		for _, word := range strings.Fields(a.Command) {
			if slices.Contains([]string{".js", ".py", ".rb"}, filepath.Ext(word)) {
				script = strings.TrimPrefix(word, "adapters/")
			}
		}
		if filepath.Ext(script) != "" {
			assert.FileExists(t, script, a.Name)
		}
	}
	_, ok := adapters.Find("redsink")
	assert.False(t, ok)
}

// TestVersions: the list names the versions that are pinned.
func TestVersions(t *testing.T) {
	t.Chdir(filepath.Join(root, "adapters"))
	pins := map[string][2]string{ // where, and what stands before the version there
		"redsync":         {"go/go.mod", "github.com/go-redsync/redsync/v4 v"},
		"redislock":       {"go/go.mod", "github.com/bsm/redislock v"},
		"rueidislock":     {"go/go.mod", "github.com/redis/rueidis v"},
		"redlock":         {"node/package.json", "npm:redlock@"},
		"redis-semaphore": {"node/package.json", `"redis-semaphore": "`},
		"zk":              {"go/go.mod", "github.com/go-zookeeper/zk v"},
		"etcd":            {"etcd/go.mod", "go.etcd.io/etcd/client/v3 v"},
		"pgx":             {"postgres/go.mod", "github.com/jackc/pgx/v5 v"},
	}
	version := regexp.MustCompile(`\d\S*[^\s,]`)
	checked := map[string]bool{}
	for _, a := range adapters.All() {
		library := strings.Fields(a.Library)[0]
		pin, ok := pins[library]
		if !ok {
			continue // it is taken from the machine
		}
		checked[library] = true
		text, err := os.ReadFile(pin[0])
		require.NoError(t, err)
		assert.Regexp(t, regexp.QuoteMeta(pin[1]+version.FindString(a.Library))+`\b`, string(text), a.Name)
	}
	assert.Len(t, checked, len(pins))
}

// TestAdaptersAreSmall: what a user has to write is at most 40 lines of code, on a kit.
func TestAdaptersAreSmall(t *testing.T) {
	t.Chdir(filepath.Join(root, "adapters"))
	for _, pattern := range []string{"go/*/*.go", "java/*.java", "node/*.js", "python/*.py", "shell/client.py"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.LessOrEqual(t, adaptertest.CodeLines(string(text)), 40, path)
		}
	}
}
