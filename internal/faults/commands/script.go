package commands

import (
	"fmt"

	"github.com/locklab/locklab/internal/faults/lua"
)

// scriptOutside says why a script may touch more than the keys that it declares, or is empty. Whose those are is seen where it is called.
func (table Table) scriptOutside(source []byte, own func(name []byte) bool) string {
	calls, err := lua.Calls(source)
	if err != nil {
		return fmt.Sprintf("its script, %v", err)
	}
	for _, call := range calls {
		if why := table.callOutside(call.Args, own); why != "" {
			return fmt.Sprintf("its script, line %d, calls %s: %s", call.Line, Clip(call.Args[0].Text), why)
		}
	}
	return ""
}

// longestForm is how many arguments of a command belong together: as many stand for any number of them.
const longestForm = 4

// standIns are arguments of a call that only its run would show. They are known by where they are, not by what they say.
type standIns struct{ key, hasKey, computed []byte }

func (s standIns) of(arg lua.Arg) []byte {
	switch arg.Kind {
	case lua.Literal:
		return []byte(arg.Text)
	case lua.Key, lua.Keys:
		return s.key
	case lua.HasKey:
		return s.hasKey
	}
	return s.computed
}

func same(a, b []byte) bool { return len(a) > 0 && &a[0] == &b[0] }

// callOutside judges a command that a script calls as if a client sent it. A key must be an element of KEYS; a channel may also contain one.
func (table Table) callOutside(call []lua.Arg, own func(name []byte) bool) string {
	stand := standIns{[]byte("KEYS[…]"), []byte("KEYS[…]…"), []byte("…")}
	args := make([][]byte, len(call))
	for i, arg := range call {
		args[i] = stand.of(arg)
	}
	last := call[len(call)-1].Kind
	if last == lua.Keys || last == lua.Spread {
		for range longestForm {
			args = append(args, args[len(call)-1])
		}
	}
	switch t := table.Find(args); {
	case t.reach == reachChannel:
		return t.beyond(args, func(name []byte) bool { return same(name, stand.key) || same(name, stand.hasKey) || own(name) })
	case t.reach == reachConnection && (t.Name == "PING" || t.Name == "ECHO" || t.Name == "TIME"):
		return ""
	case t.reach != reachKeys:
		return "it can touch more than the keys that it names"
	case t.keys == keysStreams && len(args) > len(call):
		return "which of its arguments are keys depends on their number"
	default:
		return t.calledOutside(args, stand.key)
	}
}

func (t Traits) calledOutside(args [][]byte, key []byte) string {
	isKey := func(name []byte) bool { return same(name, key) }
	if _, foreign := t.ownKeys(args, isKey); foreign != nil {
		return "its keys must be elements of KEYS, by KEYS[…], a local variable that is nothing else, a loop over ipairs(KEYS), or unpack(KEYS)"
	}
	return t.beyond(args, isKey)
}
