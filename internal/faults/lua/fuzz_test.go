package lua

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	interpreter "github.com/yuin/gopher-lua"
)

// FuzzCalls: what a script calls when it runs is what was said of it beforehand, and it changes nothing that scripts share.
func FuzzCalls(f *testing.F) {
	for _, source := range []string{
		`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`,
		`for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'px', 10) end return #KEYS`,
		`local key = KEYS[1] local function f(key) key = ARGV[1] return key end key = f(key) redis.call('GET', key)`,
		`local key = KEYS[1] repeat local key = ARGV[1] until redis.call('GET', key)`,
		`local a, key = KEYS[2], KEYS[1] do local key = a .. 'x' redis.call('PUBLISH', key .. ARGV[1]) end redis.call('DEL', a, key, unpack(KEYS))`,
		`local t = {} t.key = KEYS[1] table.insert(t, ARGV[1]) redis.call('ZADD', KEYS[#KEYS], unpack(t)) redis.call('DEL', t.key, ...)`,
		"--[==[ ]] ]==] redis.call('G\\069T', --\r KEYS[1], [[\nx]], 007, -1, 1e3, 0x10, ({KEYS[1]})[1], (KEYS[1]))",
		`redis.call('MSET', KEYS[1], KEYS[2] or 'x', not KEYS[1] == 1, (function() return 1, 2 end)())`,
		`local redis = {} KEYS[1] = 'x'`, `string.format = tostring`, `local f, s = ipairs(KEYS) s[1] = 'x'`,
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		calls, err := Calls([]byte(source))
		if err != nil {
			return
		}
		keys := []string{"sesame-1", "sesame-2"}
		for _, made := range run(t, source, keys) {
			require.True(t, slices.ContainsFunc(calls, func(c Call) bool { return c.allows(made, keys) }), "%q calls %q; foreseen: %v", source, made, calls)
		}
	})
}

// allows says whether a call that was made is one that was foreseen.
func (c Call) allows(made, keys []string) bool {
	for i, arg := range c.Args {
		switch arg.Kind {
		case Keys:
			return !slices.ContainsFunc(made[i:], func(word string) bool { return !slices.Contains(keys, word) })
		case Spread:
			return true
		}
		if i >= len(made) {
			return false
		}
		switch {
		case arg.Kind == Literal && made[i] != arg.Text,
			arg.Kind == Key && !slices.Contains(keys, made[i]),
			arg.Kind == HasKey && !slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(made[i], key) }):
			return false
		}
	}
	return len(made) == len(c.Args)
}

// run runs a script, and returns the calls that a server would carry out. It may end with an error, or be cut short.
func run(t *testing.T, source string, keys []string) (made [][]string) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	l := interpreter.NewState(interpreter.Options{CallStackSize: 100, RegistrySize: 1 << 10, RegistryMaxSize: 1 << 14})
	defer l.Close()
	l.SetContext(ctx)
	call := l.NewFunction(func(l *interpreter.LState) int {
		words := make([]string, l.GetTop())
		for i := range words {
			word := l.Get(i + 1)
			if word.Type() != interpreter.LTString && word.Type() != interpreter.LTNumber {
				l.RaiseError("arguments must be strings or integers")
			}
			words[i] = word.String()
		}
		made = append(made, words)
		l.Push(interpreter.LString("reply"))
		return 1
	})
	redis, declared, argv := l.NewTable(), l.NewTable(), l.NewTable()
	redis.RawSetString("call", call)
	redis.RawSetString("pcall", call)
	for _, key := range keys {
		declared.Append(interpreter.LString(key))
	}
	argv.Append(interpreter.LString("argument"))
	l.SetGlobal("redis", redis)
	l.SetGlobal("KEYS", declared)
	l.SetGlobal("ARGV", argv)
	before := shared(l)
	if body, err := l.LoadString(strings.TrimPrefix(source, header.FindString(source))); err == nil {
		l.Push(body)
		_ = l.PCall(0, 0, nil)
	}
	require.Equal(t, before, shared(l), source)
	return made
}

// shared is what all scripts share, and KEYS.
func shared(l *interpreter.LState) map[string]string {
	all := map[string]string{}
	l.G.Global.ForEach(func(name, value interpreter.LValue) {
		all[name.String()] = value.String()
		if table, is := value.(*interpreter.LTable); is && table != l.G.Global && name.String() != "ARGV" {
			table.ForEach(func(member, value interpreter.LValue) { all[name.String()+"."+member.String()] = value.String() })
		}
	})
	return all
}
