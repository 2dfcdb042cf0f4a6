package commands

// Match says which requests a breakpoint counts. Only requests that name a watched key count; EXEC counts if its transaction
// named one, a script by its KEYS. EVALSHA does not count while the server does not have the script: the EVAL that follows
// it does, so a script is one request however it is sent.
type Match struct {
	Kind    MatchKind
	Command string // for MatchCommand; EVAL and EVALSHA mean either
}

// MatchKind is the kind of a Match.
type MatchKind uint8

// The kinds of matches. What is queued in a transaction neither writes nor removes; its EXEC may. Scripts and commands that
// the lab does not know may do both.
const (
	MatchAny MatchKind = iota + 1
	MatchWrite
	MatchRemoval
	MatchCommand
)

// Counts says whether a match counts a request with such traits that names a watched key; queued: MULTI queues it.
func (m Match) Counts(t Traits, queued bool) bool {
	switch m.Kind {
	case MatchAny:
		return true
	case MatchWrite:
		return t.Writes && !queued
	case MatchRemoval:
		return t.Drops && !queued
	case MatchCommand:
		return scriptName(m.Command) == scriptName(t.Name)
	}
	return false
}

// BySHA says whether the command runs a script that the server must have.
func (t Traits) BySHA() bool { return scriptName(t.Name) != t.Name }

// scriptName is a command's name, the same for both ways to run a script.
func scriptName(name string) string {
	switch name {
	case "EVALSHA":
		return "EVAL"
	case "EVALSHA_RO":
		return "EVAL_RO"
	}
	return name
}
