// Package golang reads the sources of the lab's locks, which package impls has embedded.
//
// It owns what a lock consists of: what a function may call is taken to be whatever its body names, so that never too few lines come into question for a
// command. It must not run a lock.
package golang

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/listing"
)

// Sources are the parsed files of the locks.
type Sources struct {
	set    *token.FileSet
	text   map[string]string
	funcs  map[string][]*ast.FuncDecl // by name
	types  map[string]*ast.TypeSpec
	values map[string]ast.Expr     // of constants
	decls  map[string]*ast.GenDecl // of types and constants
	files  map[string]*ast.File
}

// Read parses the sources.
func Read() (*Sources, error) {
	s := &Sources{
		set: token.NewFileSet(), text: map[string]string{}, funcs: map[string][]*ast.FuncDecl{}, types: map[string]*ast.TypeSpec{}, values: map[string]ast.Expr{},
		decls: map[string]*ast.GenDecl{}, files: map[string]*ast.File{},
	}
	names, err := fs.Glob(impls.Sources, "*.go")
	if err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := impls.Sources.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("listing: %w", err)
		}
		file, err := parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("listing: %w", err)
		}
		s.text[name], s.files[name] = string(text), file
		s.add(file)
	}
	return s, nil
}

// Text is a file.
func (s *Sources) Text(file string) string { return s.text[file] }

func (s *Sources) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			s.funcs[d.Name.Name] = append(s.funcs[d.Name.Name], d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.types[spec.Name.Name], s.decls[spec.Name.Name] = spec, d
				case *ast.ValueSpec:
					for i, name := range spec.Names {
						s.decls[name.Name] = d
						if i < len(spec.Values) {
							s.values[name.Name] = spec.Values[i]
						}
					}
				}
			}
		}
	}
}

// Of is the listing of a lock; nil: its source is not among these.
func (s *Sources) Of(spec impls.Spec) *listing.Listing {
	if spec.New == nil {
		return nil
	}
	own := s.types[typeOf(spec)]
	if own == nil {
		return nil
	}
	r := &reader{Sources: s, types: map[string]bool{}, funcs: map[*ast.FuncDecl]bool{}}
	r.addType(own.Name.Name)
	if made := s.constructor(spec); made != nil {
		r.addNamed(made)
		r.made = r.called(made)
	}
	l := &listing.Listing{Begins: map[history.Op]listing.Place{}}
	ops := []struct {
		op    history.Op
		roots []string
	}{
		{history.OpAcquire, []string{"TryAcquire", "Acquire", "Enter", "Leave", "Wakeups"}},
		{history.OpRelease, []string{"Release"}},
		{history.OpRenew, []string{"Renew"}},
		{history.OpCheck, []string{"Held"}},
	}
	r.grow(own.Name.Name, slices.Concat(ops[0].roots, ops[1].roots, ops[2].roots, ops[3].roots))
	byOp := map[history.Op]map[*ast.FuncDecl]bool{}
	for _, o := range ops {
		byOp[o.op] = r.from(r.methods(own.Name.Name, o.roots))
		if m := r.method(own.Name.Name, o.roots[0]); m != nil {
			l.Begins[o.op] = r.place(m.Name)
		}
	}
	background := r.background()
	for _, fn := range r.ordered(s.file(own)) {
		l.Sites = append(l.Sites, r.sitesIn(fn, byOp, background[fn])...)
	}
	l.Parts = r.parts(s.file(own), l)
	l.Bugs = r.bugs(spec, l.Parts)
	return l
}

// typeOf is the name of the type of a lock; empty: it is none of package impls.
func typeOf(spec impls.Spec) string {
	v := reflect.ValueOf(spec.New(nil, impls.Options{}))
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface || v.Kind() == reflect.Struct && wraps(v.Type()) {
		if v.Kind() == reflect.Struct {
			v = v.Field(0)
		} else {
			v = v.Elem()
		}
	}
	if !v.IsValid() || v.Type().PkgPath() != reflect.TypeFor[impls.Spec]().PkgPath() {
		return ""
	}
	return v.Type().Name()
}

// wraps says whether a struct only adds something to its first field, which is the lock: it has no name, or whichever lock it is given.
func wraps(t reflect.Type) bool {
	return t.NumField() > 0 && t.Field(0).Anonymous && (t.Name() == "" || t.Field(0).Type.Kind() == reflect.Interface)
}

// constructor is the function that makes a lock; nil: it is not among these.
func (s *Sources) constructor(spec impls.Spec) (made ast.Node) {
	if base, _, choice := strings.Cut(spec.Name, "/"); choice {
		spec, _ = impls.Find(base)
	}
	name, line := runtime.FuncForPC(reflect.ValueOf(spec.New).Pointer()).FileLine(reflect.ValueOf(spec.New).Pointer())
	file := s.files[path.Base(name)]
	if file == nil {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, is := n.(*ast.FuncLit); is && s.place(lit).Line == line && made == nil {
			made = lit.Body
		}
		return true
	})
	return made
}

func (s *Sources) file(n ast.Node) string { return s.set.Position(n.Pos()).Filename }

func (s *Sources) place(n ast.Node) listing.Place {
	at := s.set.Position(n.Pos())
	return listing.Place{File: at.Filename, Line: at.Line}
}

// reader follows what one lock consists of.
type reader struct {
	*Sources
	types map[string]bool
	funcs map[*ast.FuncDecl]bool
	made  []*ast.FuncDecl // what the constructor names: the lock may call it at any time
}

// addType adds a type, and those of its fields.
func (r *reader) addType(name string) {
	spec := r.Sources.types[name]
	if spec == nil || r.types[name] {
		return
	}
	if _, is := spec.Type.(*ast.InterfaceType); is {
		return
	}
	r.types[name] = true
	r.addNamed(spec.Type)
}

// addNamed adds the types that are named somewhere.
func (r *reader) addNamed(n ast.Node) {
	for name := range named(n) {
		r.addType(name)
	}
}

// grow adds what these methods may call until nothing is new: a function may bring a type, and a type methods.
func (r *reader) grow(of string, roots []string) {
	for before := -1; before != len(r.types)+len(r.funcs); {
		before = len(r.types) + len(r.funcs)
		r.funcs = r.from(r.methods(of, roots))
		for fn := range r.funcs {
			r.addNamed(fn.Type)
			r.addNamed(fn.Body)
		}
	}
}

// methods are those of a type that there are of some names.
func (r *reader) methods(of string, names []string) (list []*ast.FuncDecl) {
	for _, name := range names {
		if fn := r.method(of, name); fn != nil {
			list = append(list, fn)
		}
	}
	return list
}

// method is the method of a type, or of what it embeds.
func (r *reader) method(of, name string) *ast.FuncDecl {
	for _, fn := range r.Sources.funcs[name] {
		if receiver(fn) == of {
			return fn
		}
	}
	if s, is := r.Sources.types[of].Type.(*ast.StructType); is {
		for _, field := range s.Fields.List {
			if len(field.Names) > 0 {
				continue
			}
			for embedded := range named(field.Type) {
				if r.types[embedded] {
					if fn := r.method(embedded, name); fn != nil {
						return fn
					}
				}
			}
		}
	}
	return nil
}

// from are the functions that come into question when these run.
func (r *reader) from(roots []*ast.FuncDecl) map[*ast.FuncDecl]bool {
	reached := map[*ast.FuncDecl]bool{}
	for queue := slices.Concat(roots, r.made); len(queue) > 0; queue = queue[1:] {
		if fn := queue[0]; !reached[fn] {
			reached[fn] = true
			queue = append(queue, r.called(fn.Body)...)
		}
	}
	return reached
}

// called are the functions and methods that a piece of code names.
func (r *reader) called(n ast.Node) (list []*ast.FuncDecl) {
	for name := range named(n) {
		for _, fn := range r.Sources.funcs[name] {
			if of := receiver(fn); of == "" && !makesSpec(fn) || r.types[of] {
				list = append(list, fn)
			}
		}
	}
	return list
}

// background are the functions that a background task may run.
func (r *reader) background() map[*ast.FuncDecl]bool {
	var roots []*ast.FuncDecl
	for fn := range r.funcs {
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is && selector(call) == "Go" {
				for _, arg := range call.Args {
					roots = append(roots, r.called(arg)...)
				}
				roots = append(roots, fn) // the task itself stands in it
			}
			return true
		})
	}
	if len(roots) == 0 {
		return nil
	}
	return r.from(roots)
}

// ordered are the lock's functions as they are read: those of its own file first.
func (r *reader) ordered(own string) []*ast.FuncDecl {
	list := make([]*ast.FuncDecl, 0, len(r.funcs))
	for fn := range r.funcs {
		list = append(list, fn)
	}
	slices.SortFunc(list, func(a, b *ast.FuncDecl) int {
		return r.compare(r.place(a), r.place(b), own)
	})
	return list
}

func (r *reader) compare(a, b listing.Place, own string) int {
	rank := func(p listing.Place) int {
		if p.File == own {
			return 0
		}
		return 1
	}
	return cmp.Or(rank(a)-rank(b), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// named are the names in a piece of code.
func named(n ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is {
			names[id.Name] = true
		}
		return true
	})
	return names
}

// receiver is the type of which a function is a method; empty: none.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	expr := fn.Recv.List[0].Type
	if star, is := expr.(*ast.StarExpr); is {
		expr = star.X
	}
	if id, is := expr.(*ast.Ident); is {
		return id.Name
	}
	return ""
}

// makesSpec says whether a function describes locks instead of being part of one.
func makesSpec(fn *ast.FuncDecl) bool {
	return fn.Type.Results != nil && named(fn.Type.Results)["Spec"]
}

// selector is the method that a call calls; empty: it calls something else.
func selector(call *ast.CallExpr) string {
	if sel, is := call.Fun.(*ast.SelectorExpr); is {
		return sel.Sel.Name
	}
	return ""
}
