package history

import "strconv"

// The names under which kinds, operations and outcomes are written. Index 0 is the zero value, which is never written.
var (
	kindNames    = [...]string{"none", "open", "call", "return", "lost", "valid", "exit", "command", "fault", "step", "final", "end"}
	opNames      = [...]string{"none", "acquire", "release", "renew", "check", "work"}
	outcomeNames = [...]string{"none", "ok", "no", "unknown"}
)

// String is the kind's name in a history file.
func (k Kind) String() string { return nameOf(kindNames[:], int(k), "kind") }

// String is the operation's name in a history file and in scripts.
func (o Op) String() string { return nameOf(opNames[:], int(o), "op") }

// String is the outcome's name in a history file and in the client protocol.
func (o Outcome) String() string { return nameOf(outcomeNames[:], int(o), "outcome") }

// ParseKind finds the kind with the given name.
func ParseKind(name string) (Kind, bool) {
	i, ok := indexOf(kindNames[:], name)
	return Kind(i), ok
}

// ParseOp finds the operation with the given name.
func ParseOp(name string) (Op, bool) {
	i, ok := indexOf(opNames[:], name)
	return Op(i), ok
}

// ParseOutcome finds the outcome with the given name.
func ParseOutcome(name string) (Outcome, bool) {
	i, ok := indexOf(outcomeNames[:], name)
	return Outcome(i), ok
}

func nameOf(names []string, i int, what string) string {
	if i < len(names) {
		return names[i]
	}
	return what + "(" + strconv.Itoa(i) + ")"
}

func indexOf(names []string, name string) (int, bool) {
	for i, n := range names[1:] {
		if n == name {
			return i + 1, true
		}
	}
	return 0, false
}
