package locktest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/racing"
)

// TestFromOutside writes a module of somebody else, with a lock that holds what it promises and one that does not, and runs its tests.
func TestFromOutside(t *testing.T) {
	if racing.Enabled {
		t.Skip("the other module is not built with the race detector")
	}
	dir := outside(t)
	out, err := goTest(t, dir, "-run", "TestCareful$")
	require.NoError(t, err, out)

	out, err = goTest(t, dir, "-run", "TestCareless")
	require.Error(t, err, out)
	assert.Contains(t, out, "--- FAIL: TestCareless/pause-past-lease")
	assert.Contains(t, out, "pause-past-lease: wrongful-delete")
	assert.Contains(t, out, "removed the lock that C2 had held since 2.005s.")
	assert.Contains(t, out, "lease promises that no such thing happens: setpx-lua comes to double-holder, stale-write, lost-update here.")
	assert.NotContains(t, out, "--- FAIL: TestCareless/take-turns")

	_, search, found := strings.Cut(out, "--- FAIL: TestCarelessSearch")
	require.True(t, found, out)
	assert.Regexp(t, `seed \d+: .*wrongful-delete`, search)
	assert.NotContains(t, search, "storm", "a search is none")

	page := regexp.MustCompile(`picture  (\S+/pause-past-lease/report.html)`).FindStringSubmatch(out)
	require.NotNil(t, page, out)
	picture, err := os.ReadFile(page[1])
	require.NoError(t, err)
	assert.Contains(t, string(picture), `id="cells-0"`, "its steps")

	rerun := regexp.MustCompile(`rerun    go test -run '(\^TestCareless\$/\^pause-past-lease\$)' \.`).FindStringSubmatch(out)
	require.NotNil(t, rerun, out)
	out, err = goTest(t, dir, "-run", rerun[1])
	require.Error(t, err, out)
	assert.Equal(t, 1, strings.Count(out, "wrongful-delete\n"), out)
}

// TestLibraries runs the tests of published libraries, in a module that has them.
func TestLibraries(t *testing.T) {
	if racing.Enabled {
		t.Skip("the other module is not built with the race detector")
	}
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
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	mod := fmt.Sprintf("module example.com/mylock\n\ngo 1.26.0\n\nrequire github.com/locklab/locklab v0.0.0\n\nreplace github.com/locklab/locklab => %s\n", root)
	write := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	write("go.mod", []byte(mod))
	write("go.sum", sums)
	for _, name := range []string{"mylock.go", "mylock_test.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "outside", name+".txt"))
		require.NoError(t, err)
		write(name, text)
	}
	return dir
}

// goTest runs the tests of a module. Pictures go to a directory of the test.
func goTest(t *testing.T, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-mod=mod"}, append(args, ".")...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "LOCKTEST_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}
