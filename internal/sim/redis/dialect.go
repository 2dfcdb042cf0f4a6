package redis

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// The scripts of a Redis are in Lua 5.1, with globals that cannot be changed. gopher-lua is more generous, and it writes numbers otherwise: so what
// follows makes an error of what a Redis refuses, and has numbers written with 14 digits.

// textFunction is by which name a script calls what writes a number. No script can say it.
const textFunction = "(text)"

// parsed is a script as a Redis reads it.
func parsed(source string) ([]ast.Stmt, error) {
	chunk, err := parse.Parse(strings.NewReader(source), "user_script")
	if err == nil {
		err = adapt(reflect.ValueOf(chunk))
	}
	return chunk, err
}

var errGoto = errors.New("'=' expected near a label") // Lua 5.1 has no goto

// adapt has both sides of each concatenation written as Lua 5.1 does.
func adapt(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		return adapt(v.Elem())
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if err := adapt(v.Elem()); err != nil {
			return err
		}
		switch e := v.Interface().(type) {
		case *ast.GotoStmt:
			return errGoto
		case *ast.StringConcatOpExpr:
			e.Lhs, e.Rhs = asText(e.Lhs), asText(e.Rhs)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := adapt(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := adapt(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func asText(e ast.Expr) ast.Expr {
	switch e.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return e
	}
	call := &ast.FuncCallExpr{Func: &ast.IdentExpr{Value: textFunction}, Args: []ast.Expr{e}}
	for _, made := range []ast.Expr{call, call.Func} {
		made.SetLine(e.Line())
		made.SetLastLine(e.LastLine())
	}
	return call
}

// text is a number as Lua 5.1 writes it, and anything else as it is.
func text(value lua.LValue) lua.LValue {
	number, is := value.(lua.LNumber)
	if !is {
		return value
	}
	if f := float64(number); !math.IsInf(f, 0) && !math.IsNaN(f) {
		return lua.LString(strconv.FormatFloat(f, 'g', 14, 64))
	}
	return lua.LString(strings.TrimPrefix(strings.ToLower(number.String()), "+"))
}

// decimal is what C takes for a number and gopher-lua does not: one with an exponent.
var decimal = regexp.MustCompile(`^\s*[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+\s*$`)

// replace has prepare called before a function of a table.
func replace(l *lua.LState, in *lua.LTable, name string, prepare func(*lua.LState)) {
	original := in.RawGetString(name).(*lua.LFunction).GFunction
	in.RawSetString(name, l.NewFunction(func(run *lua.LState) int {
		prepare(run)
		return original(run)
	}))
}

// adaptLibrary puts Lua 5.1's in the place of some functions.
func adaptLibrary(l *lua.LState) {
	first := func(run *lua.LState) {
		if run.GetTop() > 0 {
			run.Replace(1, text(run.Get(1)))
		}
	}
	for _, name := range []string{"byte", "find", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper"} {
		replace(l, l.GetGlobal("string").(*lua.LTable), name, first)
	}
	replace(l, l.GetGlobal("table").(*lua.LTable), "concat", func(run *lua.LState) {
		texts := run.NewTable()
		run.CheckTable(1).ForEach(func(key, value lua.LValue) { texts.RawSet(key, text(value)) })
		run.Replace(1, texts)
	})
	replace(l, l.G.Global, "tostring", first)
	replace(l, l.G.Global, "tonumber", func(run *lua.LState) {
		if word, is := run.Get(1).(lua.LString); is && run.GetTop() == 1 && decimal.MatchString(string(word)) {
			number, _ := strconv.ParseFloat(strings.TrimSpace(string(word)), 64)
			run.Replace(1, lua.LNumber(number))
		}
	})
	library := l.GetGlobal("string").(*lua.LTable)
	replace(l, library, "format", func(run *lua.LState) {
		for i, verb := range verbs(run.CheckString(1)) {
			if verb == 's' && i+2 <= run.GetTop() {
				run.CheckString(i + 2)
				run.Replace(i+2, text(run.Get(i+2)))
			}
		}
	})
}

// verbs are the letters of a format by which its arguments are written.
func verbs(format string) (list []byte) {
	for {
		_, rest, found := strings.Cut(format, "%")
		rest = strings.TrimLeft(rest, "-+ #.0123456789")
		if !found || rest == "" {
			return list
		}
		if rest[0] != '%' {
			list = append(list, rest[0])
		}
		format = rest[1:]
	}
}

// refuseChange is what a script comes to that sets a global.
func refuseChange(run *lua.LState) int {
	run.RaiseError("Attempt to modify a readonly table")
	return 0
}
