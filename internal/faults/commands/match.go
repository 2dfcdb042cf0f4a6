package commands

import (
	"github.com/locklab/locklab/faults"
)

// Counts says whether a breakpoint counts a request that names a watched key; queued: MULTI queues it. EXEC counts if its transaction named
// such a key, a script by its KEYS. EVALSHA does not count while the server lacks the script: the EVAL that follows does, so a script is
// one request however it is sent.
func (t Traits) Counts(m faults.Match, queued bool) bool {
	switch m.Kind {
	case faults.MatchAny:
		return true
	case faults.MatchWrite:
		return t.Writes && !queued
	case faults.MatchRemoval:
		return t.Drops && !queued
	case faults.MatchCommand:
		return scriptName(m.Command) == scriptName(t.Name)
	}
	return false
}

// BySHA says whether the command names a script by its SHA.
func (t Traits) BySHA() bool { return scriptName(t.Name) != t.Name }

// scriptName is the command's name, with EVAL for EVALSHA.
func scriptName(name string) string {
	switch name {
	case "EVALSHA":
		return "EVAL"
	case "EVALSHA_RO":
		return "EVAL_RO"
	}
	return name
}
