package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// problems says in which ways a file breaks the rules.
func (s source) problems() []string {
	if strings.HasSuffix(s.path, "_test.go") {
		return nil
	}
	owner, ok := ownerOf(s.dir)
	if !ok {
		return []string{s.dir + " has no rule: add it to the arrows"}
	}
	rule := rules()[owner]
	problems := slices.Concat(s.badImports(owner, rule), s.badCalls(rule), s.tooMuch())
	if s.lines > maxLines {
		problems = append(problems, fmt.Sprintf("has %d lines, more than %d", s.lines, maxLines))
	}
	return problems
}

// ownerOf is the directory whose rule holds for dir: itself, or its nearest listed ancestor.
func ownerOf(dir string) (string, bool) {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := rules()[dir]; ok {
			return dir, true
		}
	}
	return "", false
}

func (s source) badImports(owner string, rule rule) []string {
	var problems []string
	for _, spec := range s.file.Imports {
		target := importPath(spec)
		if mayImport(owner, rule, target) {
			continue
		}
		name := strings.TrimPrefix(target, module+"/")
		problems = append(problems, fmt.Sprintf("%s must not import %s", owner, name))
	}
	return problems
}

func mayImport(owner string, rule rule, target string) bool {
	if dir, ok := strings.CutPrefix(target, module+"/"); ok {
		to, ok := ownerOf(dir)
		return ok && (to == owner || slices.Contains(rule.own, to))
	}
	if first, _, _ := strings.Cut(target, "/"); strings.Contains(first, ".") {
		return slices.ContainsFunc(rule.external, func(m string) bool { return within(target, m) })
	}
	return !forbiddenStandard(owner, rule, target)
}

func forbiddenStandard(owner string, rule rule, target string) bool {
	switch {
	case within(target, "testing"):
		return !rule.tests
	case within(target, "net"), within(target, "os"), within(target, "syscall"):
		return rule.pure
	case within(target, "math/rand"), target == "crypto/rand":
		return rule.scripted
	}
	return false
}

// within says whether an import path is a module or package, or lies below it.
func within(target, root string) bool {
	return target == root || strings.HasPrefix(target, root+"/")
}

// badCalls finds what must not be done, whoever is imported.
func (s source) badCalls(rule rule) []string {
	var problems []string
	names := s.namesOf("time", "context")
	if rule.pure && names["."] != "" {
		problems = append(problems, fmt.Sprintf("imports %s by a dot, which hides a clock", names["."]))
	}
	ast.Inspect(s.file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if what := clockUse(names, n); rule.pure && !rule.clock && what != "" {
				problems = append(problems, "uses "+what)
			}
		case *ast.GoStmt:
			if rule.scripted {
				problems = append(problems, "starts a goroutine")
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				problems = append(problems, "has an init function")
			}
		}
		return true
	})
	return problems
}

// clockUse is the clock that an expression reaches for ("time.Now"), or empty. Naming the function is enough: as a value it
// can be called by others.
func clockUse(names map[string]string, selector *ast.SelectorExpr) string {
	ident, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	pkg, function := names[ident.Name], selector.Sel.Name
	if pkg == "time" && slices.Contains(clockFuncs(), function) ||
		pkg == "context" && slices.Contains(deadlineFuncs(), function) {
		return pkg + "." + function
	}
	return ""
}

// namesOf maps the names under which the file knows the given packages to those packages.
func (s source) namesOf(packages ...string) map[string]string {
	names := map[string]string{}
	for _, spec := range s.file.Imports {
		target := importPath(spec)
		if !slices.Contains(packages, target) {
			continue
		}
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	return names
}

func importPath(spec *ast.ImportSpec) string {
	target, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return target
}

// tooMuch finds the functions that branch too often.
func (s source) tooMuch() []string {
	var problems []string
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && complexity(f) > maxComplexity {
			problems = append(problems, fmt.Sprintf("%s has a cyclomatic complexity of %d, more than %d", f.Name.Name, complexity(f), maxComplexity))
		}
	}
	return problems
}

// complexity is McCabe's number: one more than the places at which a function branches.
func complexity(f *ast.FuncDecl) int {
	number := 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			number++
		case *ast.CaseClause:
			if n.List != nil {
				number++
			}
		case *ast.CommClause:
			if n.Comm != nil {
				number++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				number++
			}
		}
		return true
	})
	return number
}
