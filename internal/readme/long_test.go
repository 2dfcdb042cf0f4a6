package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const fromTests = "the tests"

// skippedScript is what a script of cmd/lab says that runs in full only.
var skippedScript = regexp.MustCompile(`(?m)^\[!long\] skip 'long: (.*); LOCKLAB_LONG=1 runs it'$`)

// TestLongTestsAreListed: docs/tables/long-tests.md lists all that the quick run leaves out.
func TestLongTestsAreListed(t *testing.T) {
	var rows []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path == "../../adapters":
			return filepath.SkipDir // modules of their own
		case strings.HasSuffix(path, "_test.go"):
			rows = append(rows, longTests(t, path)...)
		case filepath.Ext(path) == ".txtar":
			if found := skippedScript.FindStringSubmatch(pageText(t, path)); found != nil {
				rows = append(rows, row("cmd/lab", filepath.Base(path), found[1]))
			}
		}
		return nil
	}))
	slices.Sort(rows)
	rows = slices.Compact(rows)
	assert.Greater(t, len(rows), 50)
	holdPart(t, "../../docs/tables/long-tests.md", fromTests, "| package | test | only in full |\n| --- | --- | --- |\n"+strings.Join(rows, ""))
}

func row(dir, test, what string) string { return fmt.Sprintf("| %s | %s | %s |\n", dir, test, what) }

// longTests has a row for each call of needs.Long and needs.Count in a file.
func longTests(t *testing.T, path string) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	dir, err := filepath.Rel("../..", filepath.Dir(path))
	require.NoError(t, err)
	for _, decl := range parsed.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			callee, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if from, ok := callee.X.(*ast.Ident); !ok || from.Name != "needs" {
				return true
			}
			switch callee.Sel.Name {
			case "Long":
				rows = append(rows, row(filepath.ToSlash(dir), function.Name.Name, words(call.Args[1])))
			case "Count":
				rows = append(rows, row(filepath.ToSlash(dir), function.Name.Name, words(call.Args[3])+" "+words(call.Args[1])+" instead of "+words(call.Args[2])))
			}
			return true
		})
	}
	return rows
}

// words are those of a literal. What is computed is "all", and a name at the end of a text is an ellipsis.
func words(argument ast.Expr) string {
	switch argument := argument.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(argument.Value); err == nil {
			return text
		}
		return argument.Value
	case *ast.BinaryExpr:
		if literal, ok := argument.X.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			return words(literal) + "…"
		}
	}
	return "all"
}
