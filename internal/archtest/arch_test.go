package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxLines is where a file has become too long to be read in one go.
const maxLines = 450

// maxComplexity is how often a function may branch before it is too much to keep in mind.
const maxComplexity = 20

func TestRulesAreKept(t *testing.T) {
	files := sources(t)
	require.NotEmpty(t, files)
	for _, f := range files {
		assert.Empty(t, f.problems(), f.path)
	}
}

// TestPackagesSayWhatTheyAre: a package comment says what the package owns, and what it must not know.
func TestPackagesSayWhatTheyAre(t *testing.T) {
	comments := make(map[string]string)
	for _, f := range sources(t) {
		if !strings.HasSuffix(f.path, "_test.go") {
			comments[f.dir] += strings.Join(strings.Fields(f.file.Doc.Text()), " ")
		}
	}
	for dir, comment := range comments {
		if !strings.Contains(comment, "tests only") {
			assert.Contains(t, comment, " owns ", dir)
			assert.Contains(t, comment, "must not ", dir)
		}
	}
}

// parsed are the sources, once a test has asked for them.
var parsed []source

// sources parses every Go file of the module, whatever platform it is for.
func sources(t *testing.T) (files []source) {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && ignored(entry.Name()) {
			return fs.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		files = append(files, parse(t, filepath.ToSlash(relative), string(text)))
		return nil
	})
	require.NoError(t, err)
	parsed = files
	return files
}

// ignored says whether the go command passes over a directory of that name, or whether it holds results.
func ignored(dir string) bool {
	return strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_") || dir == "testdata" || dir == "runs" || dir == "examples"
}

func parse(t *testing.T, name, text string) source {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err)
	return source{path: name, dir: path.Dir(name), file: file, lines: strings.Count(text, "\n")}
}

// TestEveryRuleIsEnforced breaks each rule once, so that a rule which reports nothing is noticed.
func TestEveryRuleIsEnforced(t *testing.T) {
	tests := map[string]struct {
		path, text string
		want       string // empty: nothing to complain about
	}{
		"arrow along":            {"internal/worker/a.go", `import "github.com/locklab/locklab/impls"`, ""},
		"arrow against":          {"impls/a.go", `import "github.com/locklab/locklab/internal/worker"`, "must not import internal/worker"},
		"between the pure":       {"checker/a.go", `import "github.com/locklab/locklab/impls"`, "must not import impls"},
		"protocol knows no lock": {"internal/worker/protocol/a.go", `import "github.com/locklab/locklab/impls"`, "must not import impls"},
		"one world":              {"internal/scenarios/live/a.go", `import "github.com/locklab/locklab/internal/scenarios/play"`, ""},
		"the other world":        {"internal/scenarios/live/a.go", `import "github.com/locklab/locklab/internal/scenarios/sim"`, "must not import internal/scenarios/sim"},
		"renderer":               {"internal/scenarios/live/a.go", `import "github.com/locklab/locklab/internal/report"`, "must not import internal/report"},
		"without a rule":         {"misc/a.go", ``, "has no rule"},
		"library at home":        {"checker/internal/second/a.go", `import "github.com/anishathalye/porcupine"`, ""},
		"library elsewhere":      {"internal/report/a.go", `import "github.com/redis/go-redis/v9"`, "must not import github.com/redis/go-redis/v9"},
		"library by prefix":      {"checker/internal/second/a.go", `import "github.com/anishathalye/porcupinesque"`, "must not import"},
		"network":                {"checker/a.go", `import "net/http"`, "must not import net/http"},
		"operating system":       {"impls/a.go", `import "os"`, "must not import os"},
		"network in its place":   {"internal/worker/a.go", `import "net"`, ""},
		"time as a type":         {"impls/a.go", `import "time"; const lease = 3 * time.Second`, ""},
		"clock":                  {"checker/a.go", `import "time"; var t = time.Now()`, "uses time.Now"},
		"clock as a value":       {"impls/a.go", `import "time"; var f = time.Since`, "uses time.Since"},
		"clock renamed":          {"impls/a.go", `import clock "time"; var f = clock.After`, "uses time.After"},
		"clock by dot":           {"impls/a.go", `import . "time"`, "by a dot"},
		"timer in a context":     {"impls/a.go", `import "context"; var f = context.WithTimeout`, "uses context.WithTimeout"},
		"clock in its place":     {"internal/worker/a.go", `import "time"; var t = time.Now()`, ""},
		"chance":                 {"impls/a.go", `import "math/rand/v2"`, "must not import math/rand/v2"},
		"own goroutine":          {"impls/a.go", `func f() { go f() }`, "starts a goroutine"},
		"goroutine of a judge":   {"checker/a.go", `func f() { go f() }`, ""},
		"init":                   {"internal/report/a.go", `func init() {}`, "has an init function"},
		"method named init":      {"internal/report/a.go", `type t struct{}; func (t) init() {}`, ""},
		"testing":                {"scenarios/a.go", `import "testing"`, "must not import testing"},
		"testing for others":     {"locktest/a.go", `import "testing"`, ""},
		"tests are free":         {"checker/a_test.go", `import ("testing"; "time"; "os"); var t = time.Now()`, ""},
		"too long":               {"checker/a.go", strings.Repeat("\n", maxLines+1), "lines"},
		"branches":               {"checker/a.go", `func f() { ` + strings.Repeat("if a && b {}; ", maxComplexity/2) + `}`, "complexity of 21"},
		"not too many branches":  {"checker/a.go", `func f() { ` + strings.Repeat("if a && b {}; ", maxComplexity/2-1) + `switch { case a: default: } }`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := parse(t, test.path, "package p;"+test.text).problems()
			if test.want == "" {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Contains(t, got[0], test.want)
		})
	}
}

// source is one parsed file; its path and directory are relative to the module, with slashes.
type source struct {
	path, dir string
	file      *ast.File
	lines     int
}
