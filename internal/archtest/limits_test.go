package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a type and a package may have before they are too much to keep in mind. Whatever a type embeds counts as its own, wherever it is declared.
const (
	maxFields  = 25
	maxMethods = 40
	maxFiles   = 30
	maxPackage = 5000 // lines
)

// TestTypesAndPackagesAreSmall: neither is above its limits.
func TestTypesAndPackagesAreSmall(t *testing.T) {
	found := sizes(sources(t))
	for _, what := range slices.Sorted(maps.Keys(found)) {
		assert.LessOrEqual(t, found[what].count, found[what].limit, what)
	}
}

// TestSizesCountWhatIsEmbedded: fields and methods cannot be hidden in another type, behind a pointer, or in another package.
func TestSizesCountWhatIsEmbedded(t *testing.T) {
	files := []source{
		parse(t, "checker/a.go", `package checker
			import o "github.com/locklab/locklab/history"
			type outer struct { a, b int; error; inner; *pointed; o.Other }
			func (outer) m1() {}
			func (*outer) m2() {}
			type inner struct { c int; loop *outer }
			func (inner) m2() {}
			func (inner) m3() {}
			type pointed struct { d, _ int; *outer }`),
		parse(t, "checker/b.go", `package checker
			func (*pointed) m4() {}
			type generic[T any] struct { x T }
			func (g *generic[T]) m() {}
			type all interface { one; m5(); m6() }
			type one interface { m7() }`),
		parse(t, "checker/b_test.go", "package checker\n\n\nfunc (one) m8() {}\n"),
		parse(t, "history/c.go", "package history\n\ntype Other struct { e int; f int }\nfunc (Other) M9() {}\n"),
	}
	got := map[string]int{}
	for what, size := range sizes(files) {
		got[what] = size.count
	}
	assert.Equal(t, map[string]int{
		"checker.outer fields": 9, "checker.outer methods": 5, "checker.inner fields": 2, "checker.inner methods": 2, "checker.pointed fields": 9, "checker.pointed methods": 5,
		"checker.generic fields": 1, "checker.generic methods": 1, "checker.all fields": 0, "checker.all methods": 3, "checker.one fields": 0, "checker.one methods": 1,
		"checker files": 2, "checker lines": 13, "history files": 1, "history lines": 4, "history.Other fields": 2, "history.Other methods": 1,
	}, got)
}

// size is how much of something there is, and how much there may be.
type size struct{ count, limit int }

// sizes are those of all packages and their types, without tests: "checker files", "checker.Verdict fields".
func sizes(files []source) map[string]size {
	all, types := map[string]size{}, typesOf(files)
	for _, f := range files {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		all[f.dir+" files"] = size{all[f.dir+" files"].count + 1, maxFiles}
		all[f.dir+" lines"] = size{all[f.dir+" lines"].count + f.lines, maxPackage}
	}
	for name := range types {
		fields, methods := map[string]bool{}, map[string]bool{}
		types.collect(name, fields, methods, map[string]bool{})
		all[name+" fields"] = size{len(fields), maxFields}
		all[name+" methods"] = size{len(methods), maxMethods}
	}
	return all
}

// declared is a type: its own fields and methods, and what it embeds, as "checker.Verdict".
type declared struct{ fields, methods, embeds []string }

type declaredTypes map[string]*declared

// collect notes the fields and methods of a type and of what it embeds. Fields of different types are different fields.
func (all declaredTypes) collect(name string, fields, methods, seen map[string]bool) {
	d := all[name]
	if d == nil || seen[name] {
		return
	}
	seen[name] = true
	for i, field := range d.fields {
		fields[fmt.Sprint(name, i, field)] = true
	}
	for _, method := range d.methods {
		methods[method] = true
	}
	for _, embedded := range d.embeds {
		all.collect(embedded, fields, methods, seen)
	}
}

// typesOf are the types that files declare outside functions and tests.
func typesOf(files []source) declaredTypes {
	all := declaredTypes{}
	of := func(name string) *declared {
		if all[name] == nil {
			all[name] = &declared{}
		}
		return all[name]
	}
	inModule := map[string]bool{}
	for _, f := range files {
		for _, decl := range f.file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && !strings.HasSuffix(f.path, "_test.go") {
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						inModule[f.dir+"."+spec.Name.Name] = true
					}
				}
			}
		}
	}
	for _, f := range files {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, decl := range f.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					owner := of(f.typeName(d.Recv.List[0].Type))
					owner.methods = append(owner.methods, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						f.members(spec.Type, of(f.dir+"."+spec.Name.Name), inModule)
					}
				}
			}
		}
	}
	return all
}

// members notes the members of a struct or an interface. What it embeds from elsewhere is one field.
func (s source) members(t ast.Expr, d *declared, inModule map[string]bool) {
	var list *ast.FieldList
	isInterface := false
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list, isInterface = t.Methods, true
	default:
		return
	}
	for _, member := range list.List {
		for _, name := range member.Names {
			if isInterface {
				d.methods = append(d.methods, name.Name)
			} else {
				d.fields = append(d.fields, name.Name)
			}
		}
		if len(member.Names) > 0 {
			continue
		}
		embedded := s.typeName(member.Type)
		switch {
		case inModule[embedded]:
			d.embeds = append(d.embeds, embedded)
		case !isInterface:
			d.fields = append(d.fields, cmp.Or(embedded, "_"))
		}
	}
}

// typeName is a named type with its directory, "checker.Verdict"; a type of another module has its import path.
func (s source) typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.typeName(t.X)
	case *ast.IndexExpr:
		return s.typeName(t.X)
	case *ast.IndexListExpr:
		return s.typeName(t.X)
	case *ast.Ident:
		return s.dir + "." + t.Name
	case *ast.SelectorExpr:
		pkg, _ := t.X.(*ast.Ident)
		for _, spec := range s.file.Imports {
			target := importPath(spec)
			if name := path.Base(target); pkg != nil && (spec.Name == nil && name == pkg.Name || spec.Name != nil && spec.Name.Name == pkg.Name) {
				return strings.TrimPrefix(target, module+"/") + "." + t.Sel.Name
			}
		}
	}
	return ""
}
