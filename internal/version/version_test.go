package version

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// TestBuilds has Go build a program with this package, at a tag and after changes, as it builds the command.
func TestBuilds(t *testing.T) {
	t.Parallel()
	git := needs.Program(t, "git", "git")
	tree := newTree(t, git)
	const (
		commit = `\d{8}\.[0-9a-f]{12}`
		hash   = `[0-9a-f]{12}`
	)
	seen := map[string]string{}
	build := func(name, want string, flags ...string) string {
		t.Helper()
		got := tree.build(flags...)
		assert.Regexp(t, regexp.MustCompile(`^`+want+`$`), got, name)
		assert.NotContains(t, seen, got, "%s looks like %s", name, seen[got])
		seen[got] = name
		return got
	}
	build("a tag", `0\.1\.0\+`+commit)
	build("a tag, without the repository", `0\.1\.0-dev\+build\.`+hash, "-buildvcs=false")
	tree.write("more.go", "package main\n\nconst _ = 1\n")
	build("a new file", `0\.1\.0-dev\+`+commit+`\.dirty\.`+hash)
	tree.write("more.go", "package main\n\nconst _ = 2\n")
	changed := build("another one", `0\.1\.0-dev\+`+commit+`\.dirty\.`+hash)
	assert.Equal(t, changed, tree.build(), "one source, built twice")
	build("it, without the repository", `0\.1\.0-dev\+build\.`+hash, "-buildvcs=false")
	tree.git("add", ".")
	tree.git("commit", "-qm", "Another one")
	build("the next commit", `0\.1\.0-dev\+`+commit)
	tree.git("tag", "v0.2.0-rc.1")
	build("the next tag", `0\.2\.0-rc\.1\+`+commit)
}

// TestBuildID has the beginnings of programs: in ELF, and as on Windows and macOS.
func TestBuildID(t *testing.T) {
	t.Parallel()
	id := strings.Join(strings.Fields(strings.Repeat(strings.Repeat("x", 20)+" ", 4)), "/")
	for head, want := range map[string]string{
		"\x7fELF…\x04\x00\x00\x00\x53\x00\x00\x00\x04\x00\x00\x00Go\x00\x00" + id + "\x00more": id,
		"MZ…\xff Go build ID: \"" + id + "\"\n \xff":                                           id,
		"MZ…\xff Go build ID: \"" + strings.ReplaceAll(id, "/", "-") + "\"\n \xff":             "",
		"MZ…\xff Go build ID: \"v1\"\n \xff":                                                   "",
		"":                                                                                     "",
	} {
		assert.Equal(t, want, string(buildID([]byte(head))), "%q", head)
	}
}

// tree is a repository with this package and a program that prints its version.
type tree struct {
	t        *testing.T
	dir, bin string
	program  string // git
}

func newTree(t *testing.T, git string) *tree {
	tree := &tree{t: t, dir: t.TempDir(), bin: filepath.Join(t.TempDir(), "lab"), program: git}
	if runtime.GOOS == "windows" {
		tree.bin += ".exe"
	}
	source, err := os.ReadFile("version.go")
	require.NoError(t, err)
	tree.write("internal/version/version.go", string(source))
	tree.write("go.mod", "module "+module+"\n\ngo 1.26.0\n")
	tree.write("main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\""+module+"/internal/version\"\n)\n\nfunc main() { fmt.Print(version.String()) }\n")
	tree.git("init", "-q")
	tree.git("add", ".")
	tree.git("commit", "-qm", "The release")
	tree.git("tag", "v"+Number)
	return tree
}

func (r *tree) write(name, text string) {
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
}

func (r *tree) git(args ...string) {
	r.t.Helper()
	r.run(r.program, append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
}

func (r *tree) build(flags ...string) string {
	r.t.Helper()
	r.run("go", append(append([]string{"build", "-buildvcs=true", "-o", r.bin}, flags...), ".")...)
	return r.run(r.bin)
}

func (r *tree) run(name string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s %s: %s", name, args, out)
	return string(out)
}

// TestModules has what Go records of builds that would need a published module, or a repository that is not git's.
func TestModules(t *testing.T) {
	t.Parallel()
	main := func(path, version, sum string) debug.Module {
		return debug.Module{Path: path, Version: version, Sum: sum}
	}
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: strings.Repeat("ab", 20)}, {Key: "vcs.modified", Value: modified}}
	}
	replaced := &debug.Module{Path: module, Version: "v0.1.0", Sum: "h1:x", Replace: &debug.Module{Path: "../locklab"}}
	tests := map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"nothing known":               {debug.BuildInfo{}, "0.1.0-dev+build.HASH"},
		"installed at a version":      {debug.BuildInfo{Main: main(module, "v0.3.1", "h1:x")}, "0.3.1"},
		"in another program":          {debug.BuildInfo{Main: main("example.com/orders", "v2.0.0", ""), Deps: []*debug.Module{{Path: module, Version: "v0.3.1", Sum: "h1:x"}}, Settings: vcs("false")}, "0.3.1"},
		"replaced there":              {debug.BuildInfo{Main: main("example.com/orders", "v2.0.0", ""), Deps: []*debug.Module{replaced}, Settings: vcs("false")}, "0.1.0-dev+build.HASH"},
		"a workspace's there":         {debug.BuildInfo{Main: main("example.com/orders", "v2.0.0", ""), Deps: []*debug.Module{{Path: module, Version: "(devel)"}}, Settings: vcs("false")}, "0.1.0-dev+build.HASH"},
		"no time":                     {debug.BuildInfo{Main: main(module, "v0.1.0", ""), Settings: vcs("false")}, "0.1.0+abababababab"},
		"a dependency in a workspace": {debug.BuildInfo{Main: main(module, "v0.1.0", ""), Deps: []*debug.Module{{Path: "example.com/b", Version: "(devel)"}}, Settings: vcs("false")}, "0.1.0-dev+abababababab.dirty.HASH"},
		"published dependencies":      {debug.BuildInfo{Main: main(module, "v0.1.0", ""), Deps: []*debug.Module{{Path: "example.com/b", Version: "v1.0.0", Sum: "h1:y"}}, Settings: vcs("false")}, "0.1.0+abababababab"},
		"not known to be the same":    {debug.BuildInfo{Main: main(module, "v0.1.0", ""), Settings: vcs("")}, "0.1.0-dev+abababababab.dirty.HASH"},
		"no tag and no number":        {debug.BuildInfo{Main: main(module, "(devel)", ""), Settings: vcs("false")}, "0.1.0-dev+abababababab"},
	}
	for name, test := range tests {
		assert.Equal(t, test.want, of(&test.info, func() string { return "HASH" }), name)
	}
}
