package golang

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/listing"
)

// parts are the declarations to show: methods of the lock's types and functions that send commands, and what these name of types and constants in the
// same files. What a method calls besides, to read a reply or to count votes, is left out.
func (r *reader) parts(own string, l *listing.Listing) (list []listing.Part) {
	files, names := map[string]bool{own: true}, map[string]bool{}
	shown := []ast.Node{}
	for _, fn := range r.ordered(own) {
		first, last := r.place(fn), r.set.Position(fn.End()).Line
		sends := slices.ContainsFunc(l.Sites, func(s listing.Site) bool { return s.File == first.File && first.Line <= s.Line && s.Line <= last })
		if first.File == own || sends {
			files[first.File] = true
			shown = append(shown, fn)
			for name := range named(fn) {
				names[name] = true
			}
		}
	}
	var decls []*ast.GenDecl
	for name := range names {
		if d := r.decls[name]; d != nil && files[r.file(d)] && !slices.Contains(decls, d) {
			decls = append(decls, d)
		}
	}
	for _, d := range decls {
		shown = append(shown, d)
	}
	for _, n := range shown {
		from := n.Pos()
		switch d := n.(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		case *ast.GenDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		}
		list = append(list, listing.Part{File: r.file(n), From: r.set.Position(from).Line, To: r.set.Position(n.End()).Line})
	}
	slices.SortFunc(list, func(a, b listing.Part) int {
		return r.compare(listing.Place{File: a.File, Line: a.From}, listing.Place{File: b.File, Line: b.From}, own)
	})
	return list
}

// bugMark is how a comment calls what it stands beside the bug, of one lock only if it names that.
var bugMark = regexp.MustCompile(`(?i)\bthe bug(?: of ([\w/-]+))?(?::|$)`)

// bugs are the lines that the comments of a lock with a bug call that, and those that ask for a bug that the lock has.
func (r *reader) bugs(spec impls.Spec, parts []listing.Part) (list []listing.Bug) {
	within := func(p listing.Place) bool {
		return slices.ContainsFunc(parts, func(d listing.Part) bool { return d.File == p.File && d.From <= p.Line && p.Line <= d.To })
	}
	for _, name := range files(parts) {
		for _, group := range r.files[name].Comments {
			for _, comment := range group.List {
				found := bugMark.FindStringSubmatch(comment.Text)
				if p := r.place(comment); found != nil && spec.Bug != "" && within(p) && (found[1] == spec.Name || found[1] == "" && !strings.Contains(spec.Name, "/")) {
					list = append(list, listing.Bug{Place: p})
				}
			}
		}
		ast.Inspect(r.files[name], func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || selector(call) != "has" || len(call.Args) != 1 {
				return true
			}
			for _, bug := range active(spec) {
				if p := r.place(call); within(p) && r.pattern(call.Args[0], nothing, map[string]bool{}).Fits(bug.Name) {
					list = append(list, listing.Bug{Place: p, What: bug.What})
				}
			}
			return true
		})
	}
	slices.SortStableFunc(list, func(a, b listing.Bug) int { return r.compare(a.Place, b.Place, parts[0].File) })
	return list
}

// nothing is a function without a name of its own.
var nothing = &ast.FuncDecl{Name: ast.NewIdent(""), Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: &ast.BlockStmt{}}

// active are the bugs that a lock has: those that its name chooses, or else all but those that hide others.
func active(spec impls.Spec) []impls.Bug {
	_, chosen, choice := strings.Cut(spec.Name, "/")
	return slices.DeleteFunc(slices.Clone(spec.Bugs), func(b impls.Bug) bool {
		if choice {
			return !slices.Contains(strings.Split(chosen, "+"), b.Name)
		}
		return b.Apart
	})
}

// files are those of parts, in their order.
func files(parts []listing.Part) (names []string) {
	for _, p := range parts {
		if !slices.Contains(names, p.File) {
			names = append(names, p.File)
		}
	}
	return names
}
