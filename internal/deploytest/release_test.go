package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/locklab/locklab/internal/version"
)

// The configuration is held against the schema that goreleaser prints, since to build goreleaser costs minutes.
func releaseProblems(t *testing.T, text string) []string {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return []string{err.Error()}
	}
	s := readSchema(t, "goreleaser.schema.json")
	return s.problems(s.Defs, "", value)
}

func TestReleaseConfiguration(t *testing.T) {
	text := read(t, ".goreleaser.yaml")
	assert.Empty(t, releaseProblems(t, text))
	var config struct {
		Builds []struct {
			Main              string
			Goos, Goarch, Env []string
		}
		Archives []struct{ Files []string }
		Release  struct{ Disable bool }
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &config))
	require.Len(t, config.Builds, 1)
	build := config.Builds[0]
	assert.DirExists(t, filepath.Join(root, build.Main))
	assert.Equal(t, []string{"linux", "darwin", "windows"}, build.Goos)
	assert.Equal(t, []string{"amd64", "arm64"}, build.Goarch)
	assert.Contains(t, read(t, ".ci/run"), "./.ci/types darwin windows", "CI looks at what is built for other systems")
	assert.Contains(t, build.Env, "GOFLAGS=-buildvcs=true", "else an archive has no version where Go is told otherwise")
	require.Len(t, config.Archives, 1)
	for _, file := range config.Archives[0].Files {
		assert.FileExists(t, filepath.Join(root, file))
	}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"} {
		assert.Contains(t, config.Archives[0].Files, file)
	}
	assert.True(t, config.Release.Disable, "nothing is published from here")
	assert.Contains(t, read(t, ".gitignore"), "\n/dist/\n", "else what goreleaser makes counts as a change, and no archive is by the tag")
}

func TestReleaseProblemsAreSeen(t *testing.T) {
	good := read(t, ".goreleaser.yaml")
	tests := map[string]struct{ old, new, want string }{
		"misspelt field":        {"archives:", "archive:", ".archive: there is no such field"},
		"misspelt field within": {"goarch:", "goarchs:", ".builds[0].goarchs: there is no such field"},
		"not a list":            {"goos: [linux, darwin, windows]", "goos: linux", ".builds[0].goos: is a string, not a array"},
		"unknown builder":       {"    main:", "    builder: make\n    main:", "make is none of"},
		"wrong type":            {"disable: true\n\nrelease", "disable: [1]\n\nrelease", ".changelog.disable: [1] is none of what it may be"},
		"no YAML":               {"builds:", "builds: [", "yaml: "},
	}
	for name, test := range tests {
		bad := strings.Replace(good, test.old, test.new, 1)
		require.NotEqual(t, good, bad, "%s: the file has changed: mend this test", name)
		assert.Contains(t, strings.Join(releaseProblems(t, bad), "\n"), test.want, name)
	}
}

// TestChangelog: it begins with the version that a build says, and stays short enough to be read.
func TestChangelog(t *testing.T) {
	text := read(t, "CHANGELOG.md")
	first := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(text)
	require.NotNil(t, first)
	assert.Equal(t, version.Number, first[1])
	assert.LessOrEqual(t, strings.Count(text, "\n"), 80, "the reasons are in the commits")
}

// TestNoPublicAddress: the module is not published, so no page may have a reader fetch it.
func TestNoPublicAddress(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	for _, page := range append(pages, top...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.NotRegexp(t, `go (get|install|run) \S*github\.com/locklab|(docker|podman) pull|brew install [a-z/]*locklab\b`, string(text), page)
	}
}

func TestFormula(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	sums := filepath.Join(t.TempDir(), "checksums.txt")
	var lines []string
	for i, system := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"} {
		lines = append(lines, strings.Repeat(string(rune('a'+i)), 64)+"  locklab_0.1.0_"+system+".tar.gz\n")
	}
	fill := func(version string, lines []string) (string, error) {
		require.NoError(t, os.WriteFile(sums, []byte(strings.Join(lines, "")), 0o600))
		out, err := exec.Command("bash", filepath.Join(root, "deploy", "homebrew", "fill"), version, "https://downloads.example/0.1.0", sums).CombinedOutput()
		return string(out), err
	}
	formula, err := fill("0.1.0", lines)
	require.NoError(t, err, formula)
	assert.True(t, strings.HasPrefix(formula, "class Locklab < Formula\n"))
	assert.NotContains(t, formula, "@", "everything is filled in")
	for i, system := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		assert.Contains(t, formula, `url "https://downloads.example/0.1.0/locklab_0.1.0_`+system+".tar.gz\"\n      sha256 \""+strings.Repeat(string(rune('a'+i)), 64)+`"`)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		check := exec.Command(ruby, "-c")
		check.Stdin = strings.NewReader(formula)
		out, err := check.CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
	for name, test := range map[string]struct {
		version string
		lines   []string
	}{"another version": {"0.2.0", lines}, "one missing": {"0.1.0", slices.Delete(slices.Clone(lines), 1, 2)}} {
		said, err := fill(test.version, test.lines)
		assert.Error(t, err, name)
		assert.Contains(t, said, "has no checksum of locklab_", name)
	}
}
