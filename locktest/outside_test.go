package locktest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// TestFromOutside writes a module of somebody else, with a lock that holds what it promises and one that does not, and runs its tests.
func TestFromOutside(t *testing.T) {
	needs.Long(t, "builds another module and runs its tests")
	dir := outside(t)
	binary := filepath.Join(dir, "mylock.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-c", "-o", binary, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	test := func(run string, more ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"-test.run", run}, more...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	t.Run("sound", func(t *testing.T) {
		out, err := test("TestCareful$", "-test.v")
		require.NoError(t, err, out)
		assert.Equal(t, 1, strings.Count(out, "--- SKIP"), "what does not apply is one subtest:\n%s", out)
		assert.Contains(t, out, "--- SKIP: TestCareful/n/a ")
		assert.Regexp(t, `\d+ scenarios do not apply:\n +taken-again: the lock is not reentrant\n`, out)
		assert.Greater(t, strings.Count(out, "    --- PASS"), 40)
		assert.NotContains(t, out, "\nredis: ", "what libraries log is no part of the output")
		out, err = test("TestCareful$")
		require.NoError(t, err, out)
		assert.Equal(t, "PASS\n", out)
	})
	t.Run("broken", func(t *testing.T) {
		out, err := test("TestCareless$")
		require.Error(t, err, out)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		assert.LessOrEqual(t, len(lines)+2, 60, "with the two lines of go test itself:\n%s", out)
		assert.Regexp(t, `: release-by-owner: DEL removed another client's lock, in \d\d scenarios; smallest: released-without-holding$`, lines[1], "that comes first")
		assert.Equal(t, 1, strings.Count(out, "removes lock, which is C1's"), "one story:\n%s", out)
		assert.Contains(t, out, "C2's DEL at 0.005s removed the lock that C1 had held since 0.003s.")
		assert.Contains(t, out, "setpx-lua, a correct lock with the promises of lease: safe.")
		assert.NotContains(t, out, "TestCareless/take-turns")

		alone := regexp.MustCompile(`go test -run '(\^TestCareless\$/\^pause-past-lease\$)' \.`).FindStringSubmatch(out)
		require.NotNil(t, alone, out)
		artifacts := t.TempDir()
		out, err = test(alone[1], "-test.artifacts", "-test.outputdir", artifacts)
		require.Error(t, err, out)
		assert.Contains(t, out, ", in 1 scenario; smallest: pause-past-lease\n")
		assert.Equal(t, 1, strings.Count(out, "--- FAIL: TestCareless/"), out)
		page := regexp.MustCompile(`picture  (\S+/report.html)`).FindStringSubmatch(out)
		require.NotNil(t, page, out)
		assert.True(t, strings.HasPrefix(page[1], artifacts), page[1])
		picture, err := os.ReadFile(page[1])
		require.NoError(t, err)
		assert.Contains(t, string(picture), `id="cells-0"`, "its steps")
		assert.FileExists(t, filepath.Join(filepath.Dir(page[1]), "pause-past-lease", "history.jsonl"))
	})
	t.Run("the command is the cause", func(t *testing.T) {
		out, err := test("TestRenewsAnothers$")
		require.Error(t, err, out)
		assert.Contains(t, out, ": renew-by-owner: PEXPIRE prolonged another client's lock, in 1 scenario; smallest: renewed-after-takeover\n")
		assert.Contains(t, out, "With it came double-holder.")
	})
	t.Run("not opened", func(t *testing.T) {
		out, err := test("TestNotOpened$")
		require.Error(t, err, out)
		assert.Contains(t, out, "scenarios came to a verdict; take-turns: the lock of C1 could not be opened: Funcs.TryLock and Funcs.Lock are missing")
	})
	t.Run("search", func(t *testing.T) {
		out, err := test("TestCarelessSearch$")
		require.Error(t, err, out)
		assert.Regexp(t, `release-by-owner: DEL removed another client's lock, in \d+ of \d+ schedules; first: LOCKTEST_SEED=\d+ go test -run '\^TestCarelessSearch\$' \.`, out)
		assert.LessOrEqual(t, strings.Count(out, "\n"), 40, out)
		out, err = test("TestPastTheKnown$", "-test.v")
		require.NoError(t, err, out)
		assert.Contains(t, out, "500 schedules (")
	})
	t.Run("short", func(t *testing.T) {
		out, err := test("TestNotFound$", "-test.short", "-test.v")
		require.NoError(t, err, out)
		assert.Contains(t, out, "[wrongful-delete] was expected, and not found in so short a time")
	})
}

// TestFromAnEmptyModule tests a published library in a module that has nothing yet.
func TestFromAnEmptyModule(t *testing.T) {
	needs.Long(t, "builds a module of its own and runs its tests")
	dir := t.TempDir()
	module(t, dir, nil, "github.com/bsm/redislock", "github.com/redis/go-redis/v9")
	text, err := os.ReadFile(filepath.Join("testdata", "empty", "lock_test.go.txt"))
	require.NoError(t, err)
	_, function, _ := strings.Cut(string(text), "\nfunc ")
	assert.LessOrEqual(t, strings.Count(function, "\n"), 12, "lines of a test")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lock_test.go"), text, 0o600))
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off", "GOSUMDB=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("mod", "tidy"); err != nil {
		t.Skipf("the modules are not at hand: %s", out)
	}
	out, err := run("mod", "edit", "-json")
	require.NoError(t, err, out)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &mod))
	var indirect []string
	for _, r := range mod.Require {
		if r.Indirect {
			indirect = append(indirect, r.Path)
		}
	}
	assert.LessOrEqual(t, len(indirect), 8, indirect)
	out, err = run("test", ".")
	require.NoError(t, err, out)
}

// TestLibraries runs the tests of published libraries, in a module that has them.
func TestLibraries(t *testing.T) {
	needs.Long(t, "builds a module with published libraries and runs its tests")
	dir := filepath.Join("..", "examples", "libraries")
	download := exec.CommandContext(t.Context(), "go", "mod", "download")
	download.Dir = dir
	if out, err := download.CombinedOutput(); err != nil {
		t.Skipf("the libraries cannot be had: %v\n%s", err, out)
	}
	test := exec.CommandContext(t.Context(), "go", "test", "./...")
	test.Dir = dir
	out, err := test.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// outside is a module that uses this one as it is here.
func outside(t *testing.T) string {
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join("..", "go.sum"))
	require.NoError(t, err)
	module(t, dir, sums)
	for _, name := range []string{"mylock.go", "mylock_test.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "outside", name+".txt"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

// module begins a module that uses this one as it is here, and those in the versions that the examples have.
func module(t *testing.T, dir string, sums []byte, others ...string) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	mod := fmt.Sprintf("module example.com/mylock\n\ngo 1.26.0\n\nrequire github.com/locklab/locklab v0.0.0\n\nreplace github.com/locklab/locklab => %s\n", root)
	examples, err := os.ReadFile(filepath.Join(root, "examples", "libraries", "go.mod"))
	require.NoError(t, err)
	for _, path := range others {
		version := regexp.MustCompile(`\t(` + regexp.QuoteMeta(path) + ` v\S+)`).FindStringSubmatch(string(examples))
		require.NotNil(t, version, path)
		mod += "\nrequire " + version[1] + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
}
