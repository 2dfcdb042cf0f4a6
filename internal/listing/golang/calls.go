package golang

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/listing"
)

// sitesIn are the calls in a function that send commands.
func (r *reader) sitesIn(fn *ast.FuncDecl, byOp map[history.Op]map[*ast.FuncDecl]bool, background bool) (list []listing.Site) {
	ops := map[history.Op]bool{}
	for op, reached := range byOp {
		ops[op] = reached[fn] || background
	}
	ops[history.OpWork] = background
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is && !r.isPackage(fn, call) {
			for _, c := range r.sent(call, fn) {
				list = append(list, listing.Site{Place: r.at(call), Ops: ops, Args: c.args, Open: c.open})
			}
		}
		return true
	})
	return list
}

// command is what a call sends.
type command struct {
	args []listing.Pattern
	open bool // more arguments may follow
}

// sent are the commands that a call sends: impls.Server, impls.Tx and impls.Session say by which methods. Several have a name in common.
func (r *reader) sent(call *ast.CallExpr, fn *ast.FuncDecl) []command {
	open := func(name string, args ...listing.Pattern) command {
		return command{append([]listing.Pattern{{{name}}}, args...), true}
	}
	name := selector(call)
	switch n := len(call.Args); {
	case name == "Do" && n > 1:
		return []command{{args: r.patterns(call.Args[1:], fn)}}
	case name == "Eval" && n > 2:
		script := r.patterns(call.Args[1:2], fn)
		return []command{open("EVAL", script...), open("EVALSHA", script[0].Digests())}
	case name == "Exec" && n > 0:
		list := []command{open("MULTI"), open("EXEC")}
		for _, queued := range call.Args[1:] {
			if lit, is := queued.(*ast.CompositeLit); is {
				list = append(list, command{args: r.patterns(lit.Elts, fn)})
			}
		}
		return list
	case name == "Watch" && n == 3:
		return []command{open("WATCH"), open("UNWATCH")}
	}
	names := map[string]string{"Watch": "EXISTS", "Subscribe": "SUBSCRIBE", "Create": "CREATE", "Children": "GETCHILDREN", "Delete": "DELETE"}
	if word := names[name]; word != "" && len(call.Args) > 1 {
		return []command{open(word, r.patterns(call.Args[1:2], fn)...)}
	}
	return nil
}

// at is the line of a call: that of its method, where the call goes over several.
func (r *reader) at(call *ast.CallExpr) listing.Place {
	return r.place(call.Fun.(*ast.SelectorExpr).Sel)
}

// isPackage says whether a call is one of another package's function.
func (r *reader) isPackage(fn *ast.FuncDecl, call *ast.CallExpr) bool {
	sel, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return true
	}
	base, is := sel.X.(*ast.Ident)
	return is && slices.ContainsFunc(r.files[r.file(fn)].Imports, func(i *ast.ImportSpec) bool {
		return strings.HasSuffix(strings.Trim(i.Path.Value, `"`), base.Name)
	})
}

func (r *reader) patterns(args []ast.Expr, fn *ast.FuncDecl) (list []listing.Pattern) {
	for _, arg := range args {
		list = append(list, r.pattern(arg, fn, map[string]bool{}))
	}
	return list
}

// pattern is what an expression in a function may be. seen are the names that led there.
func (r *reader) pattern(e ast.Expr, fn *ast.FuncDecl, seen map[string]bool) listing.Pattern {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return listing.Pattern{{text}}
		}
		return listing.Pattern{{e.Value}}
	case *ast.BinaryExpr:
		return joined("", r.pattern(e.X, fn, seen), r.pattern(e.Y, fn, seen))
	case *ast.CallExpr:
		if selector(e) == "Join" && len(e.Args) == 2 {
			return joined("/", r.pattern(e.Args[0], fn, seen), r.pattern(e.Args[1], fn, seen))
		}
	case *ast.UnaryExpr:
		return r.pattern(e.X, fn, seen)
	case *ast.CompositeLit:
		if len(e.Elts) == 1 { // Script{Source: …}
			if kv, is := e.Elts[0].(*ast.KeyValueExpr); is {
				return r.pattern(kv.Value, fn, seen)
			}
		}
	case *ast.Ident:
		return r.named(e.Name, fn, seen)
	}
	return nil
}

// named is what a name in a function may stand for: a constant, whatever is assigned to it there or, for a parameter, whatever is passed for it.
func (r *reader) named(name string, fn *ast.FuncDecl, seen map[string]bool) (all listing.Pattern) {
	key := fn.Name.Name + "." + name
	if seen[key] {
		return nil
	}
	seen[key] = true
	defer delete(seen, key)
	var values []ast.Expr
	var in []*ast.FuncDecl
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		a, is := n.(*ast.AssignStmt)
		if !is {
			return true
		}
		for i, left := range a.Lhs {
			if id, is := left.(*ast.Ident); is && id.Name == name && len(a.Lhs) == len(a.Rhs) {
				values, in = append(values, a.Rhs[i]), append(in, fn)
			}
		}
		return true
	})
	if place := parameter(fn, name); place >= 0 {
		for caller := range r.funcs {
			ast.Inspect(caller.Body, func(n ast.Node) bool {
				if call, is := n.(*ast.CallExpr); is && selector(call) == fn.Name.Name && place < len(call.Args) {
					values, in = append(values, call.Args[place]), append(in, caller)
				}
				return true
			})
		}
	} else if constant := r.values[name]; constant != nil && len(values) == 0 {
		values, in = append(values, constant), append(in, fn)
	}
	for i, value := range values {
		p := r.pattern(value, in[i], seen)
		if p == nil {
			return nil
		}
		all = append(all, p...)
	}
	return all
}

// parameter is the place of a parameter of a function; negative: it has none of that name.
func parameter(fn *ast.FuncDecl, name string) int {
	n := 0
	for _, field := range fn.Type.Params.List {
		for _, id := range field.Names {
			if id.Name == name {
				return n
			}
			n++
		}
	}
	return -1
}

// joined are two patterns with a text in between.
func joined(sep string, a, b listing.Pattern) (all listing.Pattern) {
	anything := listing.Pattern{{"", ""}}
	if a == nil {
		a = anything
	}
	if b == nil {
		b = anything
	}
	for _, x := range a {
		for _, y := range b {
			pieces := slices.Clone(x)
			pieces[len(pieces)-1] += sep + y[0]
			all = append(all, append(pieces, y[1:]...))
		}
	}
	return all
}
