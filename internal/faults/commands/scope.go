package commands

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// reach says what a command can touch beside the keys that it names.
type reach uint8

const (
	reachKeys       reach = iota // nothing, but it must name one
	reachConnection              // nothing but its own connection
	reachChannel                 // its first argument is a channel
	reachChannels                // all its arguments are channels
	reachScript                  // what the script does that it brings or names
	reachServer                  // keys that it does not name, other connections, or the server itself
)

// Scope is what a client may touch on a server that others use. It is safe for concurrent use.
type Scope struct {
	table Table
	own   func(name []byte) bool

	mu      sync.Mutex
	scripts map[string]bool // by SHA: those that stay within the scope
}

// mostScripts bounds the scripts that a scope remembers.
const mostScripts = 100_000

// NewScope makes the scope of a client whose keys and channels own knows.
func (table Table) NewScope(own func(name []byte) bool) *Scope {
	return &Scope{table: table, own: own, scripts: map[string]bool{}}
}

// Refusal is Table.Refusal on a server that others use: a command must name what is the client's, and nothing else. What is not known to touch
// that alone is refused.
func (s *Scope) Refusal(args [][]byte) string {
	if why := s.table.Refusal(args); why != "" {
		return why
	}
	return s.outside(args)
}

// outside says why a command may touch more than the client's keys and channels, or is empty.
func (s *Scope) outside(args [][]byte) string {
	t := s.table.Find(args)
	why := t.beyond(args, s.own)
	if why != "" || t.reach != reachScript {
		return why
	}
	text, has := t.script(args)
	if !has {
		return ""
	}
	return s.admit(text)
}

// admit remembers a script that stays within the scope, or says why it may not.
func (s *Scope) admit(source []byte) string {
	sum := sha1.Sum(source)
	sha := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	switch why := ""; {
	case s.scripts[sha]:
		return ""
	case len(s.scripts) == mostScripts:
		return fmt.Sprintf("these are more than %d scripts", mostScripts)
	default:
		if why = s.table.scriptOutside(source, s.own); why != "" {
			return why
		}
	}
	s.scripts[sha] = true
	return ""
}

// Unseen says whether a command names a script that has not come through this scope: nobody knows what it does.
func (s *Scope) Unseen(args [][]byte) bool {
	if !s.table.Find(args).BySHA() || len(args) < 2 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.scripts[string(bytes.ToLower(args[1]))]
}

// script is the text of a script that a command brings.
func (t Traits) script(args [][]byte) (text []byte, has bool) {
	at := 1
	switch {
	case t.BySHA():
		return nil, false
	case t.Name == "SCRIPT":
		if upper(args, 1) != "LOAD" {
			return nil, false
		}
		at = 2
	}
	if len(args) <= at {
		return nil, false // the server answers with an error
	}
	return args[at], true
}

// beyond says why a command may touch more than somebody's own keys and channels, whatever a script does that it runs; or is empty.
func (t Traits) beyond(args [][]byte, own func(name []byte) bool) string {
	switch {
	case t.reach == reachServer:
		return "it can touch more than the keys that it names"
	case t.words != nil && !slices.Contains(t.words, upper(args, 1)):
		return unknownForm
	case t.reach == reachChannel, t.reach == reachChannels:
		return t.foreignChannel(args, own)
	case t.reach == reachConnection:
		return t.beyondConnection(args)
	case t.keys == keysCounted && !t.countsKeys(args):
		return "its number of keys is wrong, or not written out"
	case t.Name == "SCRIPT":
		return ""
	}
	named, foreign := t.ownKeys(args, own)
	switch {
	case foreign != nil:
		return fmt.Sprintf("the key %s is not this cell's", Clip(string(foreign)))
	case named == 0 && t.reach == reachKeys:
		return "it names no key"
	case t.Name == "COPY" && (len(args) > 4 || len(args) == 4 && upper(args, 3) != "REPLACE"):
		return unknownForm
	}
	return t.tooLarge(args)
}

// countsKeys says whether the number of keys that a command gives is a number as servers read it, of arguments that are there.
func (t Traits) countsKeys(args [][]byte) bool {
	if t.at >= len(args) {
		return false
	}
	n := countAt(args, t.at)
	return string(args[t.at]) == strconv.Itoa(n) && n <= len(args)-1-t.at
}

// ownKeys counts the keys that a command names, and returns one that is foreign.
func (t Traits) ownKeys(args [][]byte, own func([]byte) bool) (named int, foreign []byte) {
	t.eachKey(args, func(key []byte) {
		named++
		if !own(key) && foreign == nil {
			foreign = append([]byte{}, key...)
		}
	})
	return named, foreign
}

func (t Traits) foreignChannel(args [][]byte, own func([]byte) bool) string {
	last := len(args)
	if t.reach == reachChannel {
		last = min(2, len(args))
	}
	for _, channel := range args[1:last] {
		literal := channel
		if wild := bytes.IndexAny(channel, `*?[\`); t.Name == "PSUBSCRIBE" && wild >= 0 {
			literal = channel[:wild] // "[mine:]*" is a pattern for others' channels
		}
		if !own(literal) {
			return fmt.Sprintf("the channel %s is not this cell's", Clip(string(channel)))
		}
	}
	return ""
}

// beyondConnection judges the commands of reachConnection.
func (t Traits) beyondConnection(args [][]byte) string {
	switch {
	case t.Name == "SELECT" && (len(args) < 2 || string(args[1]) != "0"):
		return "the lab uses database 0 only"
	case t.Name != "CLIENT" || upper(args, 1) != "TRACKING":
		return ""
	}
	for _, arg := range args[2:] {
		if word := string(bytes.ToUpper(arg)); word == "BCAST" || word == "REDIRECT" || word == "PREFIX" {
			return "it tracks keys of others"
		}
	}
	return ""
}

// OwnKeys lists the keys of a command that are somebody's own, without duplicates.
func (t Traits) OwnKeys(args [][]byte, own func(name []byte) bool) []string {
	return t.WatchedKeys(args, func(key string) bool { return own([]byte(key)) })
}

// SeesExpiry says whether a client can learn from the command's effect or answer whether a key has an expiry, or whether the command
// carries the expiry to another key.
func (t Traits) SeesExpiry() bool {
	switch t.Name {
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "COPY", "RENAME", "RENAMENX",
		"WATCH", "EXEC":
		return true
	}
	return t.reach == reachScript || t.reach == reachServer
}
