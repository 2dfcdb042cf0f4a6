// Package hostile is a client program that attacks the lab, its servers and the machine, and the list of its attacks with what must come of each.
// Tests run it by lab run --client. A client that is called as an attack makes that attack; any other is sound.
//
// It owns the attacks. It must not know how the lab withstands them.
package hostile

import (
	"slices"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// Attack is something that a client does beside, or instead of, what it was asked.
type Attack struct {
	Name string // of the client that does it
	Does string // in words
	At   string // the verb of the request at which it begins
	// Verdict is a regular expression for the verdict about its cell. Any other cell of the run must come out as if it were alone.
	Verdict string

	strike func(*scene) error
}

// Find is the attack of the name.
func Find(name string) (Attack, bool) {
	i := slices.IndexFunc(All(), func(a Attack) bool { return a.Name == name })
	if i < 0 {
		return Attack{}, false
	}
	return All()[i], true
}

// All lists the attacks: those on servers, those by the protocol of the client, and those on the machine.
func All() []Attack { return slices.Concat(onServers(), onProtocol(), onMachine()) }

// refused is the verdict about a client that sends a command that the lab refuses.
func refused(what string) string {
	return `^unknown: tap: client [\w-]+ sent ` + what + ` to \w+, which the lab refuses: `
}

// held is the verdict about a client that makes the lab keep too much: for it alone, or beside what others make it keep.
func held(whom string) string {
	return `^unknown: tap: (request of ` + whom + ` to redis: |reply of redis to ` + whom + `: |` + whom + ` has \d+ connections, and one more is too much \()` +
		`bytes that the lab keeps for the clients of (a cell|all cells): more than \d+`
}

// onServers are bytes, commands and scripts.
func onServers() []Attack {
	const (
		safe = "^safe$"
		// Which comes first depends on the machine.
		exhausted = `^unknown: (the server (redis|resource) has ended: |tap: redis did not answer [\w-]+'s EVAL within 10s$)`
	)
	return []Attack{
		{Name: "flushall", Does: "FLUSHALL", At: protocol.Work, Verdict: refused("FLUSHALL"), strike: sends("FLUSHALL")},
		{Name: "flushdb", Does: "FLUSHDB of the resource before anything else", At: protocol.Init, Verdict: refused("FLUSHDB"), strike: sendsResource("FLUSHDB")},
		{Name: "config-set", Does: "CONFIG SET maxmemory 1", At: protocol.Work, Verdict: refused("CONFIG SET"), strike: sends("CONFIG SET maxmemory 1")},
		{Name: "shutdown", Does: "SHUTDOWN NOSAVE", At: protocol.Work, Verdict: refused("SHUTDOWN"), strike: sends("SHUTDOWN NOSAVE")},
		{Name: "replicaof", Does: "REPLICAOF another server, which takes all data away", At: protocol.Work, Verdict: refused("REPLICAOF"), strike: sends("REPLICAOF 127.0.0.1 1")},
		{Name: "failover", Does: "FAILOVER to a replica, in spite of its link", At: protocol.Work, Verdict: refused("FAILOVER"), strike: sends("FAILOVER TO 127.0.0.1 1 FORCE TIMEOUT 1")},
		{Name: "sync", Does: "PSYNC, as a replica does", At: protocol.Work, Verdict: refused("PSYNC"), strike: sends("PSYNC ? -1")},
		{Name: "client-kill", Does: "CLIENT KILL of all others", At: protocol.Work, Verdict: refused("CLIENT KILL"), strike: sends("CLIENT KILL TYPE normal")},
		{Name: "client-pause", Does: "CLIENT PAUSE for 100 s", At: protocol.Work, Verdict: refused("CLIENT PAUSE"), strike: sends("CLIENT PAUSE 100000")},
		{Name: "debug", Does: "DEBUG SEGFAULT", At: protocol.Work, Verdict: refused("DEBUG"), strike: sends("DEBUG SEGFAULT")},
		{Name: "acl", Does: "ACL SETUSER, which locks everybody out", At: protocol.Work, Verdict: refused("ACL SETUSER"), strike: sends("ACL SETUSER default off")},
		{Name: "monitor", Does: "MONITOR", At: protocol.Work, Verdict: refused("MONITOR"), strike: sends("MONITOR")},
		{Name: "flush-by-script", Does: "a script that calls FLUSHALL, on each of its servers, before anything else", At: protocol.Init, Verdict: safe, strike: flushByScript},

		{Name: "empty-requests", Does: "*0, *-1 and empty lines", At: protocol.Work, Verdict: safe, strike: sends("*0\r\n*-1\r\n\r\n*-7\r\n*0")},
		{Name: "no-resp", Does: "bytes that are no RESP", At: protocol.Work, Verdict: `^unknown: tap: request of client no-resp to redis: no valid RESP: `,
			strike: sends("*2\r\n:1\r\n\x00\xff")},
		{Name: "large-argument", Does: "an argument of 400 MB", At: protocol.Work,
			Verdict: `^unknown: tap: request of client large-argument to redis: argument of announced length 419430400: `, strike: largeArgument},
		{Name: "many-arguments", Does: "a request of 99,999,999 arguments", At: protocol.Work,
			Verdict: `^unknown: tap: request of client many-arguments to redis: request of announced 99999999 arguments: `, strike: sends("*99999999")},
		{Name: "many-small-arguments", Does: "9 connections, each with a request of 1,000,000 one-byte arguments", At: protocol.Work,
			Verdict: `^unknown: tap: request of client many-small-arguments to redis: request of announced 1000000 arguments: more than 10000$`, strike: manySmallArguments},
		{Name: "half-requests", Does: "250 connections, each with 9,999 of the 10,000 one-byte arguments of a request", At: protocol.Work,
			Verdict: held("client half-requests"), strike: halfRequests},
		{Name: "half-commands", Does: "20 commands of 15 MB that never end, each on a connection of its own", At: protocol.Work,
			Verdict: held("client half-commands"), strike: halfCommands},
		{Name: "unread-replies", Does: "20 connections that ask for 15 MB each and never read on", At: protocol.Work,
			Verdict: held("client unread-replies"), strike: unreadReplies},
		{Name: "wide-reply", Does: "9 connections, each with a script that returns 200,000 numbers, in 200 tables", At: protocol.Work,
			Verdict: `^unknown: tap: reply of redis to client wide-reply: elements of a reply: more than 100000$`, strike: wideReply},
		{Name: "connections", Does: "300 connections", At: protocol.Work, Verdict: `^unknown: tap: client connections has more than 256 connections to redis$`,
			strike: manyConnections},
		{Name: "pipeline", Does: "a pipeline of 1,000 commands of 12 kB", At: protocol.Work, Verdict: `^unknown: the history is full \(\d+ MiB\): client pipeline sent \d+ commands and notices$`, strike: pipeline},
		{Name: "subscriptions", Does: "SUBSCRIBE to new channels without end", At: protocol.Work,
			Verdict: `^unknown: tap: client subscriptions has more than 1000 subscriptions on one connection to redis$`, strike: subscriptions},
		{Name: "long-channels", Does: "SUBSCRIBE to 100 channels with names of 1 MB", At: protocol.Work, Verdict: held("client long-channels"), strike: longChannels},
		{Name: "endless-transaction", Does: "a transaction that deletes the lock without end", At: protocol.Work,
			Verdict: `^unknown: the history is full \(\d+ MiB\): client endless-transaction sent \d+ commands and notices$`, strike: endlessTransaction},

		{Name: "endless-script", Does: `EVAL "while true do end"`, At: protocol.Work, // with --timeout 3s, which is over before the tap's own
			Verdict: `^unknown: endless-script did not answer work: the cell took longer than 3s$`, strike: script("while true do end")},
		{Name: "string-rep", Does: "a script that doubles a string until memory is full", At: protocol.Work,
			Verdict: safe + "|" + exhausted, // redis-server ends the script only
			strike:  script("local s = string.rep('x', 1000000) while true do s = s .. s end")},
		{Name: "many-sets", Does: "a script of five million SETRANGEs of 1 MB", At: protocol.Work, Verdict: exhausted,
			strike: script("local long = string.rep('x', 1000000) for i = 1, 5000000 do redis.call('SETRANGE', 'key' .. i, 0, long) end")},
	}
}

// onProtocol are attacks on the lab's end of the client's standard input and output.
func onProtocol() []Attack {
	return []Attack{
		{Name: "no-protocol", Does: "a line that is no protocol", At: protocol.Acquire,
			Verdict: `^unknown: no-protocol: client wrote a line that is no protocol message: "Traceback: nonsense"`, strike: writes("Traceback: nonsense\n")},
		{Name: "endless-line", Does: "a line without an end", At: protocol.Acquire,
			Verdict: `^unknown: endless-line: client wrote a line longer than 64 KiB`, strike: writesEndlessly("x")},
		{Name: "large-answer", Does: "an answer of 100 MB", At: protocol.Acquire,
			Verdict: `^unknown: large-answer: client wrote a line longer than 64 KiB`, strike: largeAnswer},
		{Name: "notices", Does: "notices without end", At: protocol.Work,
			Verdict: `^unknown: notices: client wrote more than 1 MiB of notices`, strike: writesEndlessly(`{"lost":"lock"}` + "\n")},
		{Name: "late-notices", Does: "notices of lateness without end", At: protocol.Work,
			Verdict: `^unknown: late-notices: client wrote more than 1 MiB of notices`, strike: writesEndlessly(`{"late_ms":0.001}` + "\n")},
		{Name: "never-asked", Does: "an answer to a request that the lab never sent", At: protocol.Acquire,
			Verdict: `^unknown: never-asked: client answered request 1000000, which was never asked or had its answer`, strike: answers(1_000_000)},
		{Name: "answers-early", Does: "an answer to the request that the lab sends next", At: protocol.Open,
			Verdict: `^unknown: answers-early: client answered request \d+, which was never asked or had its answer`, strike: answersNext},
		{Name: "answers-twice", Does: "the same answer twice", At: protocol.Work,
			Verdict: `^unknown: answers-twice: client answered request \d+, which was never asked or had its answer`, strike: answersTwice},
		{Name: "closes-stdout", Does: "closes its standard output and lives on", At: protocol.Work,
			Verdict: `^unknown: closes-stdout: client has closed its standard output`, strike: closesStdout},
		{Name: "closes-stdin", Does: "closes its standard input and lives on", At: protocol.Acquire,
			Verdict: `^unknown: closes-stdin: client has closed its standard input`, strike: closesStdin},
		{Name: "ignores-exit", Does: "ignores reset and exit", At: protocol.Reset, Verdict: `^safe$`, strike: livesOn},
	}
}

// onMachine are attacks on processes, files and memory.
func onMachine() []Attack {
	return []Attack{
		{Name: "stderr", Does: "8 MB on standard error", At: protocol.Work, Verdict: `^safe$`, strike: floodsStderr},
		{Name: "descendants", Does: "processes that leave its group, keep its pipes and clear their environment", At: protocol.Init, Verdict: `^safe$`,
			strike: leavesDescendants},
		{Name: "late-child", Does: "a process in its group that keeps its pipes, in the midst of its work", At: protocol.Work, Verdict: `^safe$`,
			strike: leavesDescendantInGroup},
	}
}
