package commands

import (
	"bytes"
	"slices"
	"strings"
)

// refusal says why the lab refuses a command, and which of its subcommands it does not. If only is set, it is the subcommands that are
// refused.
type refusal struct {
	why    string
	except []string
	only   []string
}

func refusalOf(name string) (refusal, bool) {
	switch name {
	case "SHUTDOWN", "FAILOVER", "REPLICAOF", "SLAVEOF", "MODULE", "DEBUG", "BGREWRITEAOF", "BGSAVE", "SAVE", "MIGRATE":
		return refusal{why: "it ends or changes the server"}, true
	case "FLUSHALL", "FLUSHDB", "SWAPDB":
		return refusal{why: "it removes keys that are not the client's"}, true
	case "MONITOR", "SYNC", "PSYNC", "REPLCONF":
		return refusal{why: "it reads what others send"}, true
	case "CONFIG":
		return refusal{why: "it changes the server's configuration", except: []string{"GET", "HELP"}}, true
	case "ACL":
		return refusal{
			why: "it changes who may use the server", except: []string{"WHOAMI", "CAT", "LIST", "USERS", "GETUSER", "DRYRUN", "GENPASS", "HELP"},
		}, true
	case "CLIENT":
		return refusal{why: "it ends or stops other clients", only: []string{"KILL", "PAUSE", "UNPAUSE"}}, true
	case "CLUSTER":
		return refusal{
			why: "it changes the cluster", except: []string{"INFO", "SLOTS", "SHARDS", "NODES", "MYID", "KEYSLOT", "HELP"},
		}, true
	case "FUNCTION":
		return refusal{why: "it removes or ends functions of others", except: []string{"LOAD", "LIST", "STATS", "DUMP", "HELP"}}, true
	case "SCRIPT":
		return refusal{why: "it removes or ends scripts of others", except: []string{"LOAD", "EXISTS", "SHOW", "HELP"}}, true
	case "LATENCY", "SLOWLOG", "MEMORY":
		return refusal{why: "it changes the server's statistics", only: []string{"RESET", "PURGE"}}, true
	}
	return refusal{}, false
}

// Refusal says why a client under test must not send a command, or is empty. Whoever owns the server, no command may reach beyond the keys that
// it names: end, stop or change the server, empty it, or have it reveal or replace what others wrote. args are the command and its arguments.
func (table Table) Refusal(args [][]byte) string {
	name := upper(args, 0)
	rule, refused := refusalOf(name)
	sub := upper(args, 1)
	switch {
	case !refused, slices.Contains(rule.except, sub):
		return ""
	case rule.only != nil && !slices.Contains(rule.only, sub):
		return ""
	case name == "CONFIG" && sub == "SET" && len(args) == 4 && upper(args, 2) == "NOTIFY-KEYSPACE-EVENTS":
		return "" // some locks wait for the end of a key
	}
	return rule.why
}

func upper(args [][]byte, i int) string {
	if i >= len(args) || len(args[i]) > 32 {
		return ""
	}
	return string(bytes.ToUpper(args[i]))
}

// Title is the name of a command, with its subcommand if subcommands are refused one by one.
func Title(args [][]byte) string {
	name := strings.ToUpper(Clip(string(args[0])))
	if rule, ok := refusalOf(name); ok && len(rule.except)+len(rule.only) > 0 && len(args) > 1 {
		name += " " + strings.ToUpper(Clip(string(args[1])))
	}
	return name
}
