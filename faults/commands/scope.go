package commands

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// reach says what a command can touch beside the keys that it names.
type reach uint8

const (
	reachKeys       reach = iota // nothing, but it must name one
	reachConnection              // nothing but its own connection
	reachChannel                 // its first argument is a channel
	reachChannels                // all its arguments are channels
	reachSome                    // that depends on its arguments
	reachServer                  // keys that it does not name, other connections, or the server itself
)

// clientWords are the subcommands of CLIENT that concern only the connection.
var clientWords = []string{
	"SETNAME", "GETNAME", "SETINFO", "ID", "INFO", "REPLY", "NO-EVICT", "NO-TOUCH", "CACHING", "TRACKING", "TRACKINGINFO", "GETREDIR",
}

// outside says why a command may touch more than somebody's own keys and channels, or "" if it cannot. Commands that the table does not
// have are outside. What a script does with keys that it does not declare is seen only where its text names them.
func (table Table) outside(args [][]byte, own func(name []byte) bool) string {
	t := table.Find(args)
	switch t.reach {
	case reachConnection:
		return ""
	case reachServer:
		return "it can touch more than the keys that it names"
	case reachChannel, reachChannels:
		return t.foreignChannel(args, own)
	case reachSome:
		return someOutside(t.Name, args)
	}
	named, foreign := t.ownKeys(args, own)
	switch {
	case foreign != "":
		return foreign
	case t.Name == "COPY" && slices.ContainsFunc(args, func(arg []byte) bool { return bytes.EqualFold(arg, []byte("DB")) }):
		return "it writes into another database"
	case t.Name == "EVAL" || t.Name == "EVAL_RO":
		return table.scriptOutside(args, named > 0, own)
	case named == 0:
		return "it names no key"
	}
	return ""
}

// ownKeys counts the keys that a command names, and says if one is foreign.
func (t Traits) ownKeys(args [][]byte, own func([]byte) bool) (named int, foreign string) {
	t.eachKey(args, func(key []byte) {
		named++
		if !own(key) && foreign == "" {
			foreign = fmt.Sprintf("the key %s is not this cell's", Clip(string(key)))
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

// someOutside judges the commands of reachSome.
func someOutside(name string, args [][]byte) string {
	word := ""
	if len(args) > 1 {
		word = strings.ToUpper(string(args[1]))
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(args[min(2, len(args)):], func(arg []byte) bool {
			return slices.Contains(words, strings.ToUpper(string(arg)))
		})
	}
	switch {
	case name == "SELECT" && word != "0":
		return "the lab uses database 0 only"
	case name == "SCRIPT" && word != "LOAD" && word != "EXISTS", name == "CLIENT" && !slices.Contains(clientWords, word):
		return "it can touch more than its own connection"
	case word == "TRACKING" && has("BCAST", "REDIRECT", "PREFIX"):
		return "it tracks keys of others"
	}
	return ""
}

var (
	// scriptCall is a call whose command the text of a script names, with its first argument if that is a literal, too.
	scriptCall = regexp.MustCompile(`\b(?:redis|server)\s*\.\s*p?call\s*\(\s*(?:'([^']*)'|"([^"]*)")(?:\s*,\s*(?:'([^']*)'|"([^"]*)"))?`)
	// scriptDoor is a word by which a script may call a command.
	scriptDoor = regexp.MustCompile(`\b(?:redis|server|_G|getfenv|load|loadstring|rawget)\b`)
)

// scriptOutside judges what the text of a script shows. A script that declares no key may only use commands that need none.
func (table Table) scriptOutside(args [][]byte, declares bool, own func([]byte) bool) string {
	if len(args) < 2 {
		return "it names no key"
	}
	source := args[1]
	calls := scriptCall.FindAllSubmatch(source, -1)
	if !declares && len(calls) != len(scriptDoor.FindAll(source, -1)) {
		return "the script declares no key"
	}
	for _, call := range calls {
		name := append(slices.Clone(call[1]), call[2]...)
		literal := append(slices.Clone(call[3]), call[4]...)
		if why := table.callOutside(name, literal, declares, own); why != "" {
			return fmt.Sprintf("its script calls %s: %s", Clip(string(name)), why)
		}
	}
	return ""
}

func (table Table) callOutside(name, literal []byte, declares bool, own func([]byte) bool) string {
	t := table.Find([][]byte{name})
	switch {
	case t.reach == reachServer, t.reach == reachSome:
		return "it can touch more than the keys that it names"
	case t.reach == reachConnection:
		return ""
	case !declares:
		return "the script declares no key"
	case len(literal) > 0 && t.literalIsKey() && !own(literal):
		return fmt.Sprintf("%s is not this cell's", Clip(string(literal)))
	}
	return ""
}

// literalIsKey says whether the first argument is a key or a channel.
func (t Traits) literalIsKey() bool {
	if t.reach == reachChannel || t.reach == reachChannels || t.dest == 1 {
		return true
	}
	return t.at == 1 && t.keys != keysCounted && t.keys != keysStreams
}

// OwnKeys lists the keys of a command that are somebody's own, without duplicates.
func (t Traits) OwnKeys(args [][]byte, own func(name []byte) bool) []string {
	return t.WatchedKeys(args, func(key string) bool { return own([]byte(key)) })
}

// SeesExpiry says whether a client can learn from the command's effect or answer whether a key has an expiry, or whether the command
// carries the expiry to another key.
func (t Traits) SeesExpiry() bool {
	if t.keys == keysCounted && t.at == 2 && t.dest == 0 && !t.Blocks { // scripts and functions
		return true
	}
	switch t.Name {
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "COPY", "RENAME", "RENAMENX",
		"WATCH", "EXEC":
		return true
	}
	return t.reach == reachServer
}
