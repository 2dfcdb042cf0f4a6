package kits_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/adaptertest"
	"github.com/locklab/locklab/internal/kits"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/conform"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// asItIs has a directory for each kit that tests use as it is. Such a kit is prepared once.
var asItIs struct {
	sync.Mutex
	root     string
	prepared map[string]bool
}

func TestMain(m *testing.M) {
	lab.Serve()
	needs.SideBySide(6)
	// A JVM lives for a second here: to compile its code well, and to collect garbage beside it, is a third of what it computes.
	if err := os.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"); err != nil {
		panic(err)
	}
	code, err := inDirectory(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func inDirectory(tests func() int) (code int, err error) {
	asItIs.prepared = map[string]bool{}
	if asItIs.root, err = os.MkdirTemp("", "locklab-kits-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(asItIs.root)
	return tests(), nil
}

// written is the subject of a kit's client.
func written(t *testing.T, kit kits.Kit) play.Subject {
	t.Helper()
	longUnlessPython(t, kit.Name)
	asItIs.Lock()
	defer asItIs.Unlock()
	dir := filepath.Join(asItIs.root, kit.Name)
	if !asItIs.prepared[kit.Name] {
		require.NoError(t, os.RemoveAll(dir))
		prepare(t, kit, dir, func() {})
		asItIs.prepared[kit.Name] = true
	}
	return client(kit, dir)
}

// changed is the client of a kit with other texts in one of its files: each text and what takes its place.
func changed(t *testing.T, name, file string, changes ...string) play.Subject {
	t.Helper()
	longUnlessPython(t, name)
	kit, _ := kits.Find(name)
	if name == "java" { // half of a compilation is that of the kit's other files
		written(t, kit)
		classes := filepath.Join(asItIs.root, name, "classes")
		kit.Prepare = fmt.Sprintf("javac -d classes -cp %s %s", classes, file)
		kit.Command = strings.Replace(kit.Command, "%s/classes", "%s/classes:"+classes, 1)
	}
	dir := filepath.Join(t.TempDir(), "mylock")
	prepare(t, kit, dir, func() {
		path := filepath.Join(dir, file)
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for change := range slices.Chunk(changes, 2) {
			require.Contains(t, string(source), change[0])
			source = []byte(strings.Replace(string(source), change[0], change[1], 1))
		}
		require.NoError(t, os.WriteFile(path, source, 0o600))
	})
	return client(kit, dir)
}

// longUnlessPython leaves out of the quick run what is shown by the kit for Python, too, which needs no compiler.
func longUnlessPython(t *testing.T, kit string) {
	t.Helper()
	if kit != "python" {
		needs.Long(t, "a client by the kit "+kit)
	}
}

// prepare writes a kit, has it changed, and prepares it. A machine that lacks something is passed over.
func prepare(t *testing.T, kit kits.Kit, dir string, change func()) {
	t.Helper()
	names, err := kit.Write(dir, nil)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	change()
	switch kit.Name {
	case "python": // tests install nothing for the machine's Python
		needs.Part(t, "python", exec.Command("python3", "-c", "import redis").Run())
	case "shell":
		needs.Program(t, "python", "python3")
		needs.Program(t, "redis", "redis-cli")
	default:
		prepare := exec.Command("/bin/sh", "-c", kit.Prepare)
		prepare.Dir = dir
		if out, err := prepare.CombinedOutput(); err != nil {
			needs.Part(t, kit.Name, fmt.Errorf("%s: %w\n%s", kit.Prepare, err, out))
		}
	}
}

func client(kit kits.Kit, dir string) play.Subject {
	return play.Subject{Argv: []string{"/bin/sh", "-c", "exec " + fmt.Sprintf(kit.Command, dir)}}
}

// TestKitsWork: the client of each kit keeps to the protocol, and its lock breaks none of its promises, as they are.
func TestKitsWork(t *testing.T) {
	for _, kit := range kits.All() {
		t.Run(kit.Name, func(t *testing.T) {
			t.Parallel()
			subject := written(t, kit)
			checked, err := lab.Conform(t.Context(), lab.Setting{}, subject)
			require.NoError(t, err)
			assert.Len(t, checked.Results, len(conform.Checks()))
			for _, result := range checked.Results {
				assert.Nil(t, result.Breach, result.Name)
			}
			scripts, err := scenarios.Builtin("take-turns", "pause-past-lease", "cut-off-past-lease", "acquire-reply-lost", "redis-restarts-empty")
			require.NoError(t, err)
			run, err := lab.Run(t.Context(), lab.Plan{Cases: lab.Cases(scripts, []play.Subject{checked.Subject}, 1, lab.Expect(nil))})
			require.NoError(t, err)
			for _, cell := range run.Cells {
				assert.NotEqual(t, checker.Undecided, cell.Verdict.Kind, "%s: %s", cell.Scenario, cell.Verdict)
				assert.NotEqual(t, checker.NotApplicable, cell.Verdict.Kind, "%s: %s", cell.Scenario, cell.Verdict)
				assert.False(t, cell.Surprise(), "%s: %s", cell.Scenario, cell.Verdict)
			}
		})
	}
}

// TestKitsAreSmall: what a user has to read, and what a user has to write, in lines of code.
func TestKitsAreSmall(t *testing.T) {
	for _, kit := range kits.All() {
		dir := t.TempDir()
		names, err := kit.Write(dir, nil)
		require.NoError(t, err)
		lines := 0 // of the kit, in all its sources
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			if strings.HasPrefix(strings.ToLower(name), "client.") || strings.HasPrefix(name, "main.") {
				assert.LessOrEqual(t, strings.Count(string(text), "\n"), 40, "%s/%s", kit.Name, name)
			} else if slices.Contains([]string{".go", ".java", ".js", ".py"}, filepath.Ext(name)) {
				lines += adaptertest.CodeLines(string(text))
			}
		}
		assert.Less(t, lines, 300, kit.Name)
		assert.Greater(t, lines, 100, kit.Name)
		_, err = kit.Write(dir, nil)
		assert.ErrorIs(t, err, kits.ErrThere, "nothing is overwritten")
	}
}
