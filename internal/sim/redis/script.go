package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/locklab/locklab/internal/sim/service"
)

func scriptCommands() map[string]command {
	return map[string]command{
		"EVAL":    {arity: -3, outside: true, run: eval},
		"EVALSHA": {arity: -3, outside: true, run: eval},
		"SCRIPT":  {arity: -2, outside: true, run: script},
	}
}

// compiled are the scripts that have been compiled, by their source.
type compiled map[string]*lua.FunctionProto

func (c compiled) of(source string) (*lua.FunctionProto, error) {
	if proto := c[source]; proto != nil {
		return proto, nil
	}
	chunk, err := parsed(source)
	if err != nil {
		return nil, err
	}
	proto, err := lua.Compile(chunk, "user_script")
	if err == nil {
		proto.IsVarArg &^= lua.VarArgNeedsArg // Lua 5.1 makes a script no table of arguments, and it costs as much as the rest
		c[source] = proto
	}
	return proto, err
}

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

func script(s *Server, _ *conn, args []string) service.Reply {
	switch how := strings.ToUpper(args[1]); {
	case how == "LOAD" && len(args) == 3:
		if _, err := s.load(args[2]); err != nil {
			return cannotCompile(err)
		}
		return bulk(shaOf(args[2]))
	case how == "FLUSH" && len(args) == 2:
		s.scripts = map[string]string{}
		return status("OK")
	case how == "EXISTS" && len(args) > 2:
		known := make([]service.Reply, 0, len(args)-2)
		for _, sha := range args[2:] {
			_, there := s.scripts[strings.ToLower(sha)]
			known = append(known, yesNo(there))
		}
		return array(known)
	}
	return failure(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try SCRIPT HELP.", args[1]))
}

func cannotCompile(err error) service.Reply {
	return failure("ERR Error compiling script (new function): " + firstLine(err.Error()))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// load compiles a script, and keeps it for EVALSHA.
func (s *Server) load(source string) (*lua.FunctionProto, error) {
	if strings.HasPrefix(source, "#!") {
		s.meet("#! in a script")
	}
	proto, err := s.library.compiled.of(source)
	if err == nil {
		s.scripts[shaOf(source)] = source
	}
	return proto, err
}

// eval is EVAL script numkeys key … arg …, and EVALSHA with the hash of a script that is kept.
func eval(s *Server, c *conn, args []string) service.Reply {
	keys, ok := parseInt(args[2])
	switch {
	case !ok:
		return notAnInteger()
	case keys < 0:
		return failure("ERR Number of keys can't be negative")
	case keys > int64(len(args)-3):
		return failure("ERR Number of keys can't be greater than number of args")
	}
	source, known := args[1], true
	if strings.EqualFold(args[0], "EVALSHA") {
		source, known = s.scripts[strings.ToLower(args[1])]
	}
	if !known {
		return failure("NOSCRIPT No matching script. Please use EVAL.")
	}
	proto, err := s.load(source)
	if err != nil {
		return cannotCompile(err)
	}
	return s.library.interpreter().run(s, c, proto, args[3:3+keys], args[3+keys:])
}

// open makes the Lua state of which each interpreter is a thread. It has what scripts share and cannot change.
func (l *library) open() {
	// It takes little memory until a script needs more, and has as many calls within each other as Lua 5.1.
	l.state = lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 256, RegistryMaxSize: 1 << 20, CallStackSize: 20_000, MinimizeStackMemory: true})
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable, lua.OpenMath} {
		l.state.Push(l.state.NewFunction(open))
		l.state.Call(0, 0)
	}
	for _, unknown := range []string{"print", "dofile", "loadfile", "collectgarbage", "load", "loadstring", "setfenv", "getfenv", "module", "require", "newproxy", "_printregs"} {
		l.state.SetGlobal(unknown, lua.LNil)
	}
	math := l.state.GetGlobal("math").(*lua.LTable)
	for _, impure := range []string{"random", "randomseed"} { // a real server gives every script the same numbers
		math.RawSetString(impure, lua.LNil)
	}
	adaptLibrary(l.state)
	l.text = l.state.NewFunction(func(run *lua.LState) int {
		run.Push(text(run.Get(1)))
		return 1
	})
	l.refuseChange = l.state.NewFunction(refuseChange)
	tables := l.state.GetGlobal("table").(*lua.LTable)
	for _, shared := range []string{"string", "table"} {
		l.state.SetGlobal(shared, l.fixed(l.state.GetGlobal(shared).(*lua.LTable)))
	}
	ofTexts, shown := l.state.NewTable(), l.state.NewTable() // the metatable of every text, and what scripts see of it
	for _, table := range []*lua.LTable{ofTexts, shown} {
		table.RawSetString("__index", l.state.GetGlobal("string"))
	}
	ofTexts.RawSetString("__metatable", l.fixed(shown))
	l.state.SetMetatable(lua.LString(""), ofTexts)
	refuseFixed := func(run *lua.LState) {
		if table, is := run.Get(1).(*lua.LTable); is && l.isFixed(table) {
			refuseChange(run)
		}
	}
	replace(l.state, tables, "insert", refuseFixed)
	rawset := l.state.GetGlobal("rawset").(*lua.LFunction).GFunction
	l.state.SetGlobal("rawset", l.state.NewFunction(func(run *lua.LState) int {
		refuseFixed(run)
		rawset(run)
		run.SetTop(1)
		return 1
	}))
}

// fixed is a table that shows what another has, and that a script cannot change.
func (l *library) fixed(shown *lua.LTable) *lua.LTable {
	table, rules := l.state.NewTable(), l.state.NewTable()
	rules.RawSetString("__index", shown)
	rules.RawSetString("__newindex", l.refuseChange)
	rules.RawSetString("__metatable", lua.LFalse)
	table.Metatable = rules
	return table
}

func (l *library) isFixed(table *lua.LTable) bool {
	rules, has := table.Metatable.(*lua.LTable)
	return has && rules.RawGetString("__newindex") == l.refuseChange
}

// interpreter runs scripts, one at a time. What a script can change is a run's own: its keys, its arguments, and what it makes itself.
type interpreter struct {
	library *library
	state   *lua.LState
	own     *lua.LTable // the globals that scripts do not share with the library
	globals *lua.LTable // what a script sees of them, and of those of the library
	// Of the run under way.
	server *Server
	conn   *conn
}

// interpreter is the one of the library, or a new one if a script has left the last one with an error.
func (l *library) interpreter() *interpreter {
	if l.current != nil {
		return l.current
	}
	if l.state == nil {
		l.open()
	}
	thread, _ := l.state.NewThread()
	l.current = &interpreter{library: l, state: thread}
	l.current.makeGlobals()
	return l.current
}

func (r *interpreter) run(s *Server, c *conn, proto *lua.FunctionProto, keys, args []string) service.Reply {
	r.server, r.conn = s, c
	r.own.RawSetString("KEYS", r.list(keys))
	r.own.RawSetString("ARGV", r.list(args))
	script := r.state.NewFunctionFromProto(proto)
	script.Env = r.globals
	r.state.Push(script)
	if err := r.state.PCall(0, 1, nil); err != nil {
		r.library.current = nil
		return r.failed(err)
	}
	value := r.state.Get(-1)
	r.state.Pop(1)
	return r.reply(value)
}

// makeGlobals makes the globals that need the run under way. What they lack is looked up among those of the library.
func (r *interpreter) makeGlobals() {
	api := r.state.NewTable()
	api.RawSetString("call", r.state.NewFunction(r.redisCall(true)))
	api.RawSetString("pcall", r.state.NewFunction(r.redisCall(false)))
	api.RawSetString("status_reply", r.state.NewFunction(r.wrapped("ok")))
	api.RawSetString("error_reply", r.state.NewFunction(r.wrapped("err")))
	api.Metatable = r.lookup("redis.", nil)

	math := r.state.NewTable()
	math.Metatable = r.lookup("math.", r.state.GetGlobal("math").(*lua.LTable))
	r.own = r.state.NewTable()
	r.globals = r.library.fixed(r.own)
	r.own.RawSetString("redis", r.library.fixed(api))
	r.own.RawSetString("math", r.library.fixed(math))
	r.own.RawSetString("_G", r.globals)
	r.own.RawSetString(textFunction, r.library.text)
	r.own.Metatable = r.lookup("", r.state.G.Global)
}

// lookup finds what a table lacks in another one, and notes what is in neither.
func (r *interpreter) lookup(prefix string, in *lua.LTable) *lua.LTable {
	table := r.state.NewTable()
	table.RawSetString("__index", r.state.NewFunction(func(state *lua.LState) int {
		name := state.Get(2)
		value := lua.LValue(lua.LNil)
		if in != nil {
			value = in.RawGet(name)
		}
		if value == lua.LNil {
			r.server.meet(prefix + name.String() + " in a script")
		}
		state.Push(value)
		return 1
	}))
	return table
}

// failed is the reply of a script that has ended with an error. What it had done until then stays done.
func (r *interpreter) failed(err error) service.Reply {
	if broken, ok := err.(*lua.ApiError); ok {
		if table, isTable := broken.Object.(*lua.LTable); isTable {
			if reply := r.reply(table); reply.Kind == service.Error {
				return reply
			}
		}
		return failure("ERR " + firstLine(broken.Object.String()))
	}
	return failure("ERR " + firstLine(err.Error()))
}

func (r *interpreter) list(texts []string) *lua.LTable {
	list := r.state.CreateTable(len(texts), 0) // a table of no size has room for many
	for _, text := range texts {
		list.Append(lua.LString(text))
	}
	return list
}

// redisCall is redis.call, which ends the script with an error reply, or redis.pcall, which returns it.
func (r *interpreter) redisCall(raises bool) lua.LGFunction {
	return func(state *lua.LState) int {
		reply := r.command(state)
		value := r.value(reply)
		if raises && reply.Kind == service.Error {
			state.Error(value, 1)
		}
		state.Push(value)
		return 1
	}
}

func (r *interpreter) command(state *lua.LState) service.Reply {
	args := make([]string, 0, state.GetTop())
	for i := 1; i <= state.GetTop(); i++ {
		switch arg := state.Get(i).(type) {
		case lua.LString:
			args = append(args, string(arg))
		case lua.LNumber:
			args = append(args, formatScore(float64(arg)))
		default:
			return failure("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(args) == 0 {
		return failure("ERR Please specify at least one argument for this redis.call()")
	}
	command, wrong := r.server.library.find(args)
	switch {
	case wrong.Kind == service.Error && strings.HasPrefix(wrong.Text, "ERR unknown command"):
		r.server.meet(strings.Join(args, " "))
		return failure("ERR Unknown Redis command called from script")
	case wrong.Kind == service.Error:
		r.server.meet(strings.Join(args, " "))
		return failure("ERR Wrong number of args calling Redis command from script")
	case command.outside:
		return failure("ERR This Redis command is not allowed from script")
	}
	return command.run(r.server, r.conn, args)
}

func (r *interpreter) wrapped(field string) lua.LGFunction {
	return func(state *lua.LState) int {
		table := state.CreateTable(0, 1)
		table.RawSetString(field, lua.LString(state.CheckString(1)))
		state.Push(table)
		return 1
	}
}

// value is a reply as a script sees it.
func (r *interpreter) value(reply service.Reply) lua.LValue {
	switch reply.Kind {
	case service.Integer:
		return lua.LNumber(reply.Int)
	case service.Bulk:
		return lua.LString(reply.Text)
	case service.Array:
		list := r.state.CreateTable(len(reply.List), 0)
		for i, element := range reply.List {
			list.RawSetInt(i+1, r.value(element))
		}
		return list
	case service.Status, service.Error:
		table := r.state.CreateTable(0, 1)
		field := "ok"
		if reply.Kind == service.Error {
			field = "err"
		}
		table.RawSetString(field, lua.LString(reply.Text))
		return table
	}
	return lua.LFalse
}

// reply is what a script's result becomes.
func (r *interpreter) reply(value lua.LValue) service.Reply {
	switch v := value.(type) {
	case lua.LString:
		return bulk(string(v))
	case lua.LNumber:
		return integer(int64(v))
	case lua.LBool:
		if v {
			return integer(1)
		}
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			return failure(string(text))
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return status(string(text))
		}
		list := []service.Reply{}
		for i := 1; v.RawGetInt(i) != lua.LNil; i++ {
			list = append(list, r.reply(v.RawGetInt(i)))
		}
		return array(list)
	}
	return service.Reply{}
}

// ForgetScripts forgets the scripts that have been sent. It changes nothing for those who send the source each time.
func (s *Server) ForgetScripts() { clear(s.scripts) }
