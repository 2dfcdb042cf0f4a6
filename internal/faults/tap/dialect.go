package tap

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/resp"
)

// dialect is the server's state of a connection that decides how to read what follows.
type dialect struct {
	db      int
	resp3   bool
	replies replyMode
	txn     *transaction // nil outside MULTI
	subs    map[string]map[string]bool
	opaque  bool // the rest of the stream is passed on unread
	size    int  // bytes that the names of keys and channels in it take
	charged int  // of them, to the account of the connection
}

// nameCost is what the tap keeps of a name beside its bytes.
const nameCost = 64

// replyMode follows CLIENT REPLY.
type replyMode uint8

const (
	repliesOn replyMode = iota
	repliesOff
	repliesSkipped // of the next command only
)

// transaction is what MULTI has queued.
type transaction struct {
	keys          []string // the watched ones
	own           []string // the lab's, where that matters
	writes, drops bool
	db            int  // the last SELECT; -1 if there is none
	odd           bool // its EXEC may change how to read the connection
	size          int  // bytes of its keys
}

// pubsubFamily names the set that a subscription command changes; empty for any other command.
func pubsubFamily(name string) string {
	switch name {
	case "SUBSCRIBE", "UNSUBSCRIBE":
		return "channels"
	case "PSUBSCRIBE", "PUNSUBSCRIBE":
		return "patterns"
	case "SSUBSCRIBE", "SUNSUBSCRIBE":
		return "shard channels"
	}
	return ""
}

// queues says whether the connection's transaction, if any, queues the command.
func (d *dialect) queues(name string) bool {
	if d.txn == nil {
		return false
	}
	switch name {
	case "EXEC", "DISCARD", "MULTI", "WATCH", "RESET", "QUIT", "HELLO":
		return false
	}
	return true
}

// expects is the number of messages in the server's answer.
func (d *dialect) expects(f *flight, args [][]byte) int {
	if d.silences(f, args) {
		return 0
	}
	family := pubsubFamily(f.Name)
	if family == "" || f.queued {
		return 1
	}
	if len(args) > 1 {
		return len(args) - 1
	}
	return max(1, len(d.subs[family]))
}

// silences says whether CLIENT REPLY suppresses the answer to this command, and follows CLIENT REPLY.
func (d *dialect) silences(f *flight, args [][]byte) bool {
	if !f.queued && f.Name == "CLIENT" && len(args) == 3 && bytes.EqualFold(args[1], []byte("REPLY")) {
		switch strings.ToUpper(string(args[2])) {
		case "ON":
			d.replies = repliesOn
			return false
		case "OFF":
			d.replies = repliesOff
			return true
		case "SKIP":
			if d.replies != repliesOff {
				d.replies = repliesSkipped
			}
			return true
		}
	}
	if f.Name == "RESET" {
		d.replies = repliesOn
	}
	silent := d.replies != repliesOn
	if d.replies == repliesSkipped {
		d.replies = repliesOn
	}
	return silent
}

// settle follows what an answered command changed. A command without an answer counts as successful.
func (d *dialect) settle(f *flight, reply resp.Reply) {
	failed := reply.Kind == resp.KindError || reply.Kind == resp.KindBulkError
	switch {
	case failed && f.Name == "EXEC":
		d.endTransaction()
	case failed:
	case f.queued:
		d.size += d.txn.queue(f)
	default:
		d.succeed(f, reply)
	}
}

func (d *dialect) succeed(f *flight, reply resp.Reply) {
	switch f.Name {
	case "SELECT":
		d.db = f.selects
	case "HELLO":
		d.resp3 = reply.Kind == resp.KindMap
	case "RESET":
		*d = dialect{charged: d.charged}
	case "MULTI":
		d.txn = &transaction{db: -1}
	case "DISCARD":
		d.endTransaction()
	case "EXEC":
		d.commit(reply)
	case "MONITOR", "SYNC", "PSYNC":
		d.opaque = true
	}
}

// queue takes in a command, and returns how many bytes more the transaction takes.
func (txn *transaction) queue(f *flight) int {
	before := txn.size
	for _, key := range slices.Concat(f.keys, f.own) {
		txn.size += len(key) + nameCost
	}
	txn.keys = append(txn.keys, f.keys...)
	txn.own = append(txn.own, f.own...)
	txn.writes = txn.writes || f.Writes && len(f.keys) > 0
	txn.drops = txn.drops || f.Drops && len(f.keys) > 0
	txn.odd = txn.odd || isOdd(f.Name)
	if f.Name == "SELECT" {
		txn.db = f.selects
	}
	return txn.size - before
}

// endTransaction forgets the transaction, and returns it.
func (d *dialect) endTransaction() *transaction {
	txn := d.txn
	if txn != nil {
		d.size -= txn.size
	}
	d.txn = nil
	return txn
}

// isOdd says whether a command may change how to read the connection when its transaction is carried out.
func isOdd(name string) bool {
	return pubsubFamily(name) != "" || name == "CLIENT" || name == "MONITOR"
}

func (d *dialect) commit(reply resp.Reply) {
	txn := d.endTransaction()
	if txn == nil || reply.Kind == resp.KindNull || bytes.HasPrefix(reply.Raw, []byte("*-1")) {
		return
	}
	d.opaque = txn.odd
	if txn.db >= 0 {
		d.db = txn.db
	}
}

// selected is the database that SELECT names; the present one if it cannot be parsed.
func (d *dialect) selected(args [][]byte) int {
	if len(args) != 2 {
		return d.db
	}
	db, err := strconv.Atoi(string(args[1]))
	if err != nil || db < 0 {
		return d.db
	}
	return db
}

// role is what a message of the server means to the command in flight.
type role uint8

const (
	roleNews   role = iota // unrelated: a push message
	rolePart               // a part of the answer, not the last
	roleAnswer             // the answer, or the last part of it
)

// hear classifies a message; f is the command in flight, or nil.
func (d *dialect) hear(f *flight, reply resp.Reply, limits resp.Limits) role {
	if reply.Kind != resp.KindPush && !d.mayBeNews(f, reply.Kind) {
		return answerTo(f)
	}
	head, err := resp.ParseHead(reply.Raw, limits, 4, commands.Shown) // a confirmation has three elements
	if err != nil || len(head.List) == 0 {
		return answerTo(f)
	}
	what := strings.ToUpper(head.List[0].Text)
	if family := pubsubFamily(what); family != "" && len(head.List) == 3 {
		if notice, err := resp.ParseHead(reply.Raw, limits, 3, len(reply.Raw)); err == nil { // with the whole name
			d.note(family, notice)
		}
		return confirms(f, what)
	}
	isMessage := what == "MESSAGE" || what == "PMESSAGE" || what == "SMESSAGE"
	if reply.Kind == resp.KindPush || isMessage {
		return roleNews
	}
	return answerTo(f)
}

// mayBeNews says whether a message of another kind may be a push message: RESP2 sends arrays to subscribers.
func (d *dialect) mayBeNews(f *flight, kind resp.Kind) bool {
	if d.resp3 || kind != resp.KindArray {
		return false
	}
	for _, names := range d.subs {
		if len(names) > 0 {
			return true
		}
	}
	return f != nil && pubsubFamily(f.Name) != ""
}

// note follows the sets of subscriptions.
func (d *dialect) note(family string, notice resp.Value) {
	name := notice.List[1].Text
	known, ends := d.subs[family][name], strings.Contains(notice.List[0].Text, "unsub")
	if known && ends {
		d.size -= len(name) + nameCost
		delete(d.subs[family], name)
	}
	if known || ends {
		return
	}
	d.size += len(name) + nameCost
	if d.subs == nil {
		d.subs = map[string]map[string]bool{}
	}
	if d.subs[family] == nil {
		d.subs[family] = map[string]bool{}
	}
	d.subs[family][name] = true
}

// subscriptions is the number of channels and patterns.
func (d *dialect) subscriptions() (n int) {
	for _, names := range d.subs {
		n += len(names)
	}
	return n
}

// confirms counts a confirmation of the command in flight.
func confirms(f *flight, what string) role {
	if f == nil || f.Name != what || f.queued {
		return roleNews
	}
	f.awaited--
	if f.awaited > 0 {
		return rolePart
	}
	return roleAnswer
}

func answerTo(f *flight) role {
	if f == nil {
		return roleNews
	}
	return roleAnswer
}
