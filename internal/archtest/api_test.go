package archtest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/api.txt, for review")

// public are the packages that other modules can import.
func public() []string {
	return []string{"checker", "faults", "history", "impls", "lab", "locktest", "scenarios", "worker/client"}
}

// twoScreens is how many lines go doc may print of a public package.
const twoScreens = 2 * 40

// leastExamples is how many examples with checked output the public packages have at least.
const leastExamples = 25

// TestPublicAPI: every exported name of the public packages is in a file, so that a change of the API is seen in its diff.
func TestPublicAPI(t *testing.T) {
	golden := filepath.Join("testdata", "api.txt")
	var lines []string
	for _, p := range publicPackages(t) {
		lines = append(lines, p.exported()...)
	}
	slices.Sort(lines)
	text := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "review the change, then: go test ./internal/archtest -update")
}

// TestPublicNamesExplainThemselves: nothing public shows a type that its users cannot name, and nothing is an alias, whose methods go doc does not show.
func TestPublicNamesExplainThemselves(t *testing.T) {
	for _, p := range publicPackages(t) {
		assert.Empty(t, p.hidden(), p.dir)
	}
}

// TestHiddenTypesAreFound: each way to show a type that users cannot name is found.
func TestHiddenTypesAreFound(t *testing.T) {
	const imports = `package p; import "context"; import "github.com/locklab/locklab/internal/lab"; import r "github.com/locklab/locklab/internal/record"; type own struct{ N int }; type Fine struct{ private lab.Run; Ctx context.Context }; `
	for text, found := range map[string]int{
		"":                                    0,
		"func F(f *Fine) (error, []Fine)":     0,
		"func (o own) F(own)":                 0,
		"func f() lab.Run":                    0,
		"var X = map[string]Fine{}":           0,
		"func F(lab.Run)":                     1,
		"func F() map[string][]*r.Cell":       1,
		"func (Fine) F(func(chan lab.Run))":   1,
		"func F[T lab.World]()":               1,
		"func F() own":                        1,
		"type A lab.Plan":                     1,
		"type A = lab.Plan":                   2,
		"type A = Fine":                       1,
		"type A struct { X, Y lab.Plan }":     1,
		"type A struct { *lab.Plan }":         1,
		"type A struct { own }":               1,
		"type A struct { X struct{ Y own } }": 1,
		"type A interface { F(lab.Plan) }":    1,
		"type A interface { lab.World }":      1,
		"type A []own":                        1,
		"var X lab.Plan":                      1,
		"var X = lab.Plan{}":                  1,
		"var X = lab.New()":                   1,
		"const X = r.ByMatrix":                1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", imports+text, 0)
		require.NoError(t, err, text)
		p := pkg{dir: "p", files: []*ast.File{file}}
		assert.Len(t, p.hidden(), found, text)
	}
}

// TestOnlyPublicPackagesCanBeImported by other modules.
func TestOnlyPublicPackagesCanBeImported(t *testing.T) {
	root := filepath.Join("..", "..")
	var importable []string
	for _, f := range sources(t) {
		internal := slices.Contains(strings.Split(f.dir, "/"), "internal")
		if internal || f.file.Name.Name == "main" || strings.HasSuffix(f.path, "_test.go") || otherModule(root, f.dir) {
			continue
		}
		importable = append(importable, f.dir)
	}
	slices.Sort(importable)
	assert.Equal(t, public(), slices.Compact(importable))
}

func otherModule(root, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// TestGoDocFitsOnTwoScreens: an overview that is longer is no overview.
func TestGoDocFitsOnTwoScreens(t *testing.T) {
	for _, dir := range public() {
		out, err := exec.CommandContext(t.Context(), "go", "doc", module+"/"+dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.LessOrEqual(t, strings.Count(string(out), "\n"), twoScreens, dir)
	}
}

// TestPublicPackagesHaveExamples whose output is checked by go test.
func TestPublicPackagesHaveExamples(t *testing.T) {
	count := 0
	for _, dir := range public() {
		names, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
		require.NoError(t, err)
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, example := range doc.Examples(file) {
				if example.Output != "" {
					count++
				}
			}
		}
	}
	assert.GreaterOrEqual(t, count, leastExamples)
}

// pkg is a public package without its tests.
type pkg struct {
	dir   string
	files []*ast.File
}

func publicPackages(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	for _, dir := range public() {
		names, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		require.NoError(t, err)
		p := pkg{dir: dir}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			p.files = append(p.files, file)
		}
		require.NotEmpty(t, p.files, dir)
		all = append(all, p)
	}
	return all
}

// decls are the exported declarations of the package, one for each name, method, field and method of an interface.
func (p pkg) decls() []decl {
	var all []decl
	for _, file := range p.files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if owner, exported := receiver(d); d.Name.IsExported() && exported {
					all = append(all, decl{file, "func " + owner + d.Name.Name, signature(d.Type), []ast.Node{d.Type}, false})
				}
			case *ast.GenDecl:
				all = append(all, declsOf(file, d)...)
			}
		}
	}
	return all
}

// decl is one exported declaration.
type decl struct {
	file  *ast.File
	name  string     // "func (*Run) Outcome"
	text  string     // what follows the name
	shows []ast.Node // the expressions whose types users see
	alias bool
}

func receiver(d *ast.FuncDecl) (owner string, exported bool) {
	if d.Recv == nil {
		return "", true
	}
	of := expression(d.Recv.List[0].Type)
	name, _, _ := strings.Cut(strings.TrimPrefix(of, "*"), "[")
	return "(" + of + ") ", ast.IsExported(name)
}

func declsOf(file *ast.File, d *ast.GenDecl) (all []decl) {
	var implied ast.Expr // the type of constants that repeat the line above
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				all = append(all, typeDecls(file, spec)...)
			}
		case *ast.ValueSpec:
			if spec.Type != nil || len(spec.Values) > 0 {
				implied = spec.Type
			}
			for i, name := range spec.Names {
				if !name.IsExported() {
					continue
				}
				one := decl{file: file, name: d.Tok.String() + " " + name.Name}
				if implied != nil {
					one.text, one.shows = " "+expression(implied), []ast.Node{implied}
				}
				if i < len(spec.Values) {
					if literal, ok := spec.Values[i].(*ast.BasicLit); ok {
						one.text += " = " + literal.Value
					}
					if implied == nil {
						one.shows = append(one.shows, spec.Values[i])
					}
				}
				all = append(all, one)
			}
		}
	}
	return all
}

func typeDecls(file *ast.File, spec *ast.TypeSpec) []decl {
	name := "type " + spec.Name.Name
	if spec.TypeParams != nil {
		name += "[" + fieldText(spec.TypeParams) + "]"
	}
	own := decl{file: file, name: name, alias: spec.Assign.IsValid()}
	var members *ast.FieldList
	switch body := spec.Type.(type) {
	case *ast.StructType:
		own.text, members = " struct", body.Fields
	case *ast.InterfaceType:
		own.text, members = " interface", body.Methods
	default:
		own.text, own.shows = " "+expression(spec.Type), []ast.Node{spec.Type}
		return []decl{own}
	}
	all := []decl{own}
	for _, member := range members.List {
		if len(member.Names) == 0 {
			all = append(all, decl{file, name + own.text, ", embeds " + expression(member.Type), []ast.Node{member.Type}, false})
			continue
		}
		var names []string
		for _, n := range member.Names {
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
		for i, n := range names {
			one := decl{file: file, name: name + own.text, text: ", " + n}
			if i == 0 {
				one.shows = []ast.Node{member.Type}
			}
			if method, ok := member.Type.(*ast.FuncType); ok && own.text == " interface" {
				one.text += signature(method)
			} else {
				one.text += " " + expression(member.Type)
			}
			all = append(all, one)
		}
	}
	return all
}

// exported are the lines of the package in the golden file.
func (p pkg) exported() []string {
	var lines []string
	for _, d := range p.decls() {
		lines = append(lines, p.dir+", "+d.name+d.text)
	}
	return lines
}

// hidden are the exported declarations that users cannot understand by public names alone, and why.
func (p pkg) hidden() []string {
	local := map[string]bool{} // the package's types that are not exported
	for _, file := range p.files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					name := spec.(*ast.TypeSpec).Name
					local[name.Name] = !name.IsExported()
				}
			}
		}
	}
	var problems []string
	for _, d := range p.decls() {
		if d.alias {
			problems = append(problems, d.name+" is an alias")
		}
		for _, node := range d.shows {
			if what := hiddenIn(node, local, internalNames(d.file)); what != "" {
				problems = append(problems, fmt.Sprintf("%s%s shows %s", d.name, d.text, what))
			}
		}
	}
	return problems
}

// internalNames are the names under which a file knows internal packages.
func internalNames(file *ast.File) []string {
	var names []string
	for _, spec := range file.Imports {
		target := importPath(spec)
		if !slices.Contains(strings.Split(target, "/"), "internal") {
			continue
		}
		if spec.Name != nil {
			names = append(names, spec.Name.Name)
			continue
		}
		names = append(names, path.Base(target))
	}
	return names
}

// hiddenIn is the first type in an expression that is local or of an internal package. Fields of structs that are not exported do not count.
func hiddenIn(node ast.Node, local map[string]bool, internal []string) (what string) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if len(n.Names) > 0 && slices.ContainsFunc(n.Names, func(name *ast.Ident) bool { return local[name.Name] }) {
				if found := hiddenIn(n.Type, local, internal); found != "" {
					what = found
				}
				return false
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(internal, pkg.Name) {
				what = pkg.Name + "." + n.Sel.Name
			}
			return false
		case *ast.Ident:
			if local[n.Name] {
				what = n.Name
			}
		}
		return what == ""
	})
	return what
}

// expression is an expression in one line.
func expression(e ast.Expr) string {
	var text strings.Builder
	if err := printer.Fprint(&text, token.NewFileSet(), e); err != nil {
		return strconv.Quote(err.Error())
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

func signature(f *ast.FuncType) string {
	bare := *f
	bare.Func = token.NoPos
	return strings.TrimPrefix(expression(&bare), "func")
}

func fieldText(list *ast.FieldList) string {
	var all []string
	for _, field := range list.List {
		for _, name := range field.Names {
			all = append(all, name.Name+" "+expression(field.Type))
		}
	}
	return strings.Join(all, ", ")
}
