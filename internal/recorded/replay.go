package recorded

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
)

// nearEnd is how near to the end of a lease it is not known whether a command still found the key: MONITOR's times are read from another clock than the
// one by which keys expire, and that has milliseconds.
const nearEnd = 2 * time.Millisecond

// replay carries out, on a model of each database, what a recording shows of locks.
type replay struct {
	start   time.Duration // since 1970
	names   map[string]string
	servers map[string]*redis.Server // by database
	locks   map[lockKey]*lock
	order   []*lock
	script  *command // the latest that runs a script: whose the commands from "lua" are
	clients []string
	parts   []*part
	unnamed []string // keys that the user has named, and no command
}

type lockKey struct{ db, key string }

// lock is what is known of a lock's key.
type lock struct {
	lockKey
	part    *part               // the history that is being written; nil: it is not known what the key holds
	doubt   string              // why nothing is known; only while part is nil
	ends    time.Duration       // when the key expires, since the first line; zero: it does not, or is not there
	owner   string              // the client that has set what is there
	setters map[string][]string // by what names an owner in the key: who has set it
	opened  []string            // clients that the history knows
	id      int64
	touched []string // clients with commands that name it
	judged  int      // commands in histories
}

// newReplay finds the locks: keys that a command sets only if they are not there, and those that the user has named.
func newReplay(all []command, named []string) *replay {
	r := &replay{start: all[0].at, names: map[string]string{}, servers: map[string]*redis.Server{}, locks: map[lockKey]*lock{}}
	for _, c := range all {
		if key, ok := takes(c.args); ok {
			r.lock(lockKey{c.db, key})
		}
		for _, key := range named {
			if slices.Contains(c.args[1:], key) && (c.conn == "lua" || !runsScript(c.args)) {
				r.lock(lockKey{c.db, key})
			}
		}
	}
	for _, key := range named {
		if !slices.ContainsFunc(r.order, func(l *lock) bool { return l.key == key }) {
			r.unnamed = append(r.unnamed, key)
		}
	}
	return r
}

// takes is the key that a command sets if it is not there.
func takes(args []string) (key string, ok bool) {
	switch strings.ToUpper(args[0]) {
	case "SETNX":
		return args[min(1, len(args)-1)], len(args) == 3
	case "SET":
		if len(args) > 3 && slices.ContainsFunc(args[3:], func(s string) bool { return strings.EqualFold(s, "NX") }) {
			return args[1], true
		}
	}
	return "", false
}

func runsScript(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		return true
	}
	return false
}

func (r *replay) lock(key lockKey) {
	if r.locks[key] != nil {
		return
	}
	l := &lock{lockKey: key, setters: map[string][]string{}}
	r.locks[key] = l
	r.order = append(r.order, l)
	l.begin("the key was free when the recording began")
}

// begin begins a history of the lock, at a moment at which it is known what the key holds.
func (l *lock) begin(given string) {
	l.part, l.doubt, l.opened, l.id = &part{given: given}, "", nil, 0
}

// lose says that it is no longer known what the key holds.
func (l *lock) lose(why string) { l.part, l.doubt, l.owner, l.ends = nil, why, "", 0 }

func (r *replay) server(db string) *redis.Server {
	if r.servers[db] == nil {
		r.servers[db] = redis.New()
		r.servers[db].SetWallClock(r.start)
	}
	return r.servers[db]
}

// command takes in a line.
func (r *replay) command(c *command) {
	by := c
	switch {
	case c.conn == "lua" && r.script != nil:
		by = r.script
	case runsScript(c.args):
		r.script = c
		r.named(c)
		return // what it does follows, a command a line
	}
	r.named(c)
	at := c.at - r.start
	s := r.server(c.db)
	s.Advance(at.Truncate(time.Millisecond) - s.Now())
	var names []*lock
	for _, l := range r.order {
		switch name := strings.ToUpper(c.args[0]); {
		case name == "FLUSHALL", name == "FLUSHDB" && l.db == c.db:
			r.carryOut([]*lock{l}, c, by, at, []string{"DEL", l.key})
		case name == "SWAPDB":
			l.lose("SWAPDB has replaced its database")
		case l.db == c.db && slices.Contains(c.args[1:], l.key):
			names = append(names, l)
		}
	}
	r.carryOut(names, c, by, at, c.args)
}

// named takes in what a connection calls itself: connections of one name are one client.
func (r *replay) named(c *command) {
	for i, arg := range c.args[:len(c.args)-1] {
		if strings.EqualFold(arg, "SETNAME") && i > 0 && (strings.EqualFold(c.args[0], "CLIENT") && i == 1 || strings.EqualFold(c.args[0], "HELLO")) && c.args[i+1] != "" {
			r.names[c.conn] = c.args[i+1]
		}
	}
}

// client is whose a connection is.
func (r *replay) client(conn string) string {
	if name := r.names[conn]; name != "" {
		return name
	}
	return conn
}

// carryOut has the model carry out a command that names locks of one database, and writes down what it did to each.
func (r *replay) carryOut(locks []*lock, c, by *command, at time.Duration, args []string) {
	if len(locks) == 0 {
		return
	}
	s := r.server(locks[0].db)
	events := make([]event, len(locks))
	for i, l := range locks {
		before := s.State(l.key)
		events[i] = event{client: r.user(l, by, at, args, before), line: c.Line, at: at, args: args, change: history.Change{Key: l.key, Before: before}}
		note(&r.clients, events[i].client)
		note(&l.touched, events[i].client)
	}
	reply := s.Do(connection, args...)
	knows := reply.Kind != service.Error || !strings.HasPrefix(reply.Text, "ERR unknown") && !strings.HasPrefix(reply.Text, "ERR syntax")
	for i, l := range locks {
		events[i].reply, events[i].change.After = reply.Recorded(), s.State(l.key)
		if !knows {
			l.lose("the model does not know " + strings.ToUpper(args[0]))
			continue
		}
		r.record(l, events[i])
	}
}

// record writes down what a command did to a lock, if that is known.
func (r *replay) record(l *lock, e event) {
	after := e.change.After
	l.ends = 0
	if after.TTL > 0 {
		l.ends = e.at + after.TTL
	}
	if l.part == nil {
		if !settles(e.args) {
			return
		}
		l.begin("")
		if e.change.Before = (history.State{}); !after.Exists() {
			return // it is free, whoever had it
		}
	}
	if len(l.part.events) == 0 {
		r.parts = append(r.parts, l.part)
	}
	l.write(e)
	if l.part.given != "" && settles(e.args) && !after.Exists() {
		l.begin("") // it is free now, whatever was assumed
	}
}

// user is whose a command on a lock is. It also finds out whether what the key holds is known no longer.
func (r *replay) user(l *lock, by *command, at time.Duration, args []string, before history.State) string {
	client := r.client(by.conn)
	if l.part == nil {
		return client
	}
	switch nearly := at - l.ends; {
	case l.ends != 0 && nearly < nearEnd && -nearly < nearEnd:
		l.lose("a command came so near to the end of its lease that it is not known which was first")
	case l.contradicted(client, by, args, before):
		l.lose("the key was not free when the recording began")
	case before.Exists() && l.owner != "" && l.knows(by, before):
		return l.owner // by another of its connections
	}
	return client
}

// connection is the model's: what the recording shows has been through transactions and scripts already.
const connection = 1

// settles says whether it is known what a command leaves of a key, whatever was there.
func settles(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "DEL", "UNLINK", "GETDEL":
		return true
	case "SET":
		_, conditional := takes(args)
		return !conditional && len(args) > 2 && !slices.ContainsFunc(args[3:], func(s string) bool { return strings.EqualFold(s, "XX") || strings.EqualFold(s, "KEEPTTL") })
	case "GETSET", "SETEX", "PSETEX":
		return true
	}
	return false
}

// knows says whether a command shows that its client knows what is there, which one client only has set: a script that compares is given it.
func (l *lock) knows(by *command, there history.State) bool {
	return slices.ContainsFunc(tokensOf(there), func(token string) bool {
		return len(l.setters[token]) == 1 && slices.Contains(by.args[1:], token)
	})
}

// tokensOf are what names an owner in a key: its value, or the fields of a hash.
func tokensOf(s history.State) []string {
	if s.Type != "hash" {
		return []string{s.Value}
	}
	var fields []string
	for i, word := range strings.Fields(s.Value) {
		if i%2 == 0 {
			fields = append(fields, word)
		}
	}
	return fields
}

// contradicted says whether a client does what it would not do if what is assumed of the key's begin were true: it tries to take a lock that it has, or it has a script compare the
// value with another and remove or prolong the key all the same.
func (l *lock) contradicted(client string, by *command, args []string, before history.State) bool {
	if l.part.given == "" || !before.Exists() {
		return false
	}
	if key, ok := takes(args); ok && key == l.key {
		return client == l.owner
	}
	changes := settles(args) || strings.HasSuffix(strings.ToUpper(args[0]), "EXPIRE")
	return by.conn != "lua" && runsScript(by.args) && changes && len(by.args) > 4 && !l.knows(by, before)
}

// event is a command that is written down.
type event struct {
	client string
	line   Line
	at     time.Duration
	args   []string
	reply  string
	change history.Change
}

// write writes a command, and the operation that follows from it: what makes the key, or tries to, is an acquire, and what removes one's own key is a release.
func (l *lock) write(e event) {
	l.judged++
	if !slices.Contains(l.opened, e.client) {
		l.opened = append(l.opened, e.client)
		l.part.add(history.Event{At: e.at, Kind: history.KindOpen, Client: e.client, Lock: l.key, Detail: &history.Detail{Contract: history.Contract{Leaseless: true}}}, Line{})
	}
	op, outcome := history.OpNone, history.OK
	_, tries := takes(e.args)
	before, after := e.change.Before, e.change.After
	switch {
	case !before.Exists() && after.Exists():
		op, l.owner = history.OpAcquire, e.client
		l.setter(after, e.client)
	case tries:
		op, outcome = history.OpAcquire, history.No
	case before.Exists() && !after.Exists():
		if e.client == l.owner {
			op = history.OpRelease
		}
		l.owner = ""
	case before.Value != after.Value:
		l.setter(after, e.client)
	}
	id := int64(0)
	if op != history.OpNone {
		l.id++
		id = l.id
		l.part.add(history.Event{At: e.at, Kind: history.KindCall, Client: e.client, Lock: l.key, Op: op, ID: id}, e.line)
	}
	l.part.add(history.Event{At: e.at, Kind: history.KindCommand, Client: e.client, Op: op, ID: id, Detail: &history.Detail{Command: &history.Command{
		Server: "redis", Conn: 1, Args: e.args, Reply: e.reply, Sent: e.at, Changes: []history.Change{e.change},
	}}}, e.line)
	if op != history.OpNone {
		l.part.add(history.Event{At: e.at, Kind: history.KindReturn, Client: e.client, Lock: l.key, Op: op, ID: id, Outcome: outcome}, e.line)
	}
}

// setter notes that a client has set what is there.
func (l *lock) setter(s history.State, client string) {
	for _, token := range tokensOf(s) {
		if !slices.Contains(l.setters[token], client) {
			l.setters[token] = append(l.setters[token], client)
		}
	}
}

// finish says who took part, what was assumed, and what could not be judged.
func (r *replay) finish(j *Judgement) {
	j.Clients = append(j.Clients, r.clients...)
	contended := false
	for _, l := range r.order {
		name := l.key
		if l.db != "0" {
			name = fmt.Sprintf("%s (database %s)", l.key, l.db)
		}
		j.Locks = append(j.Locks, name)
		contended = contended || len(l.touched) > 1 && l.judged > 1
		if l.part == nil {
			j.Unjudged = append(j.Unjudged, fmt.Sprintf("%s: %s; what followed was not judged until a command settled what it holds", name, l.doubt))
		}
	}
	for _, key := range r.unnamed {
		j.Unjudged = append(j.Unjudged, key+": no command names it")
	}
	j.Assumed = append(j.Assumed,
		"a connection is a client; connections that call themselves the same (CLIENT SETNAME) are one, and so is a script that is given the value of its client's lock",
		"a key that is set with NX, or named with --lock, is a lock, and was free when the recording began",
		"the recording is whole, and of one server",
	)
	switch {
	case len(r.order) == 0 && len(r.unnamed) > 0:
		j.Why = "no command names " + strings.Join(r.unnamed, ", ")
	case len(r.order) == 0:
		j.Why = "no key is set with NX; name the lock's key with --lock KEY"
	case !contended:
		j.Why = "no lock was used by two clients, so nothing could go wrong between them"
	}
}
