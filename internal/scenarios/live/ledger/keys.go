// Package ledger remembers the keys that a run writes to a Redis at an address, keeps clients from all others, and deletes them.
//
// It owns these keys, also after a crash of the lab: the guard knows each before it is written. It must not know cells or scripts.
package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
)

// Bounds of what the lab remembers.
const (
	longestKey = 1024    // bytes
	mostKeys   = 100_000 // of one cell
)

// Undo is the guard's word for the keys at an address, which it deletes.
const Undo = "keys"

// keysTime bounds the deletion of keys: the server may be gone.
const keysTime = 10 * time.Second

// Ledger remembers the keys that a run has written to a server at an address: to look for them could delay the server for seconds. The guard
// knows each key before it is written. It is safe for concurrent use.
type Ledger struct {
	guard    *process.Guard
	at       redis.Endpoint
	prefix   string // that every key contains
	anything bool   // clients may send any command
	table    commands.Table

	mu   sync.Mutex
	left map[string]bool // false: has been deleted once, when its cell ended
}

func New(guard *process.Guard, at redis.Endpoint, prefix string, anything bool, table commands.Table) *Ledger {
	return &Ledger{guard: guard, at: at, prefix: prefix, anything: anything, table: table, left: map[string]bool{}}
}

// Note remembers a key that is about to be written.
func (l *Ledger) Note(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.left[key]
	l.left[key] = true
	if known {
		return nil
	}
	if len(l.left) == 1 {
		sealed, err := l.at.Seal()
		if err == nil {
			err = l.guard.Undo(Undo, sealed)
		}
		if err != nil {
			return err
		}
	}
	return l.guard.Undo(Undo, strconv.Quote(key))
}

// Delete deletes keys. What it cannot delete is left to close.
func (l *Ledger) Delete(keys []string) {
	ctx, cancel := context.WithTimeout(context.Background(), keysTime)
	defer cancel()
	if _, err := redis.DeleteKeys(ctx, l.at, keys); err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		l.left[key] = false
	}
}

// Close deletes all keys of the run again, because a request may have arrived late. If it fails, the error names the keys that may be
// left, and how to delete them.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keysTime)
	defer cancel()
	_, err := redis.DeleteKeys(ctx, l.at, slices.Sorted(maps.Keys(l.left)))
	if err != nil {
		maps.DeleteFunc(l.left, func(_ string, left bool) bool { return !left })
		if err = l.remains(err, slices.Sorted(maps.Keys(l.left))); err == nil {
			return nil // the guard tries once more
		}
	}
	return errors.Join(err, l.guard.ForgetUndo(Undo))
}

// mostNamed bounds the keys that an error names.
const mostNamed = 100

// remains is the error about keys that may be left, or nil if there are none.
func (l *Ledger) remains(err error, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	cli := l.at.CLI()
	how := fmt.Sprintf("%s --scan --pattern '*%s*' | xargs -n 100 %s UNLINK", cli, l.prefix, cli)
	if len(keys) <= mostNamed {
		words := make([]string, len(keys))
		for i, key := range keys {
			words[i] = shellWord(key)
		}
		how = cli + " UNLINK " + strings.Join(words, " ")
	}
	what := "1 key"
	if len(keys) > 1 {
		what = fmt.Sprintf("%d keys", len(keys))
	}
	return fmt.Errorf("%s of the lab may be left: %w\nto delete: %s", what, err, how)
}

// shellWord quotes a text for a shell.
func shellWord(text string) string {
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '\'' || r == '\\' })
	if plain {
		return "'" + text + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '\'' || c == '\\' {
			fmt.Fprintf(&b, `\x%02x`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String() + "'"
}

// Keys are a cell's keys on one of its links to a server at an address. A nil *keys is a server of the lab's own, where nothing has to be
// remembered. It is safe for concurrent use.
type Keys struct {
	ledger *Ledger
	prefix []byte // that every key contains: locks derive names of further keys from a key
	scope  *commands.Scope

	mu   sync.Mutex
	seen map[string]struct{}
}

// NewKeys are those of a cell, which contain a prefix. The nil ledger has none.
func (l *Ledger) NewKeys(prefix string) *Keys {
	if l == nil {
		return nil
	}
	k := &Keys{ledger: l, prefix: []byte(prefix), seen: map[string]struct{}{}}
	k.scope = l.table.NewScope(k.own)
	return k
}

func (k *Keys) own(name []byte) bool { return bytes.Contains(name, k.prefix) }

// Note remembers keys that are about to be written.
func (k *Keys) Note(keys []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		if _, known := k.seen[key]; known {
			continue
		}
		switch {
		case len(key) > longestKey:
			return fmt.Errorf("a key has %d bytes, more than %d", len(key), longestKey)
		case len(k.seen) == mostKeys:
			return fmt.Errorf("the cell has written more than %d keys", mostKeys)
		}
		if err := k.ledger.Note(key); err != nil {
			return err
		}
		k.seen[key] = struct{}{}
	}
	return nil
}

// All lists the keys that were written.
func (k *Keys) All() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.seen))
}

// Delete deletes the keys when nobody writes them any more.
func (k *Keys) Delete() {
	if k != nil {
		k.ledger.Delete(k.All())
	}
}

// refuse says why a command must not reach the server, or "". It remembers the keys that the command may write.
func (k *Keys) refuse(args [][]byte) string {
	traits := k.ledger.table.Find(args)
	if !k.ledger.anything {
		if why := k.outside(traits.Name, args); why != "" {
			return why + ", and the server is not the lab's (--allow-any-command)"
		}
	}
	if !traits.Writes {
		return ""
	}
	if err := k.Note(traits.OwnKeys(args, k.own)); err != nil {
		return err.Error()
	}
	return ""
}

// outside says why a command touches more than the cell's keys, or "".
func (k *Keys) outside(name string, args [][]byte) string {
	at := k.ledger.at
	switch {
	case name == "SELECT" && len(args) == 2 && at.DB != 0:
		if string(args[1]) == strconv.Itoa(at.DB) {
			return ""
		}
		return fmt.Sprintf("the lab uses database %d only", at.DB)
	case name == "RESET" && (at.DB != 0 || at.User != "" || at.Password != ""):
		return "it would end what the lab has said to the server, its user and database"
	}
	return k.scope.Refusal(args)
}

// leastExpiry is what a key without an expiry of its client's has left at any time in its cell, and how long it outlives a lab and a guard
// that were both killed.
const leastExpiry = time.Hour

// Confine has a tap enter the server at the address, and keep to the cell's keys.
func (k *Keys) Confine(cfg *tap.Config, limit time.Duration) {
	at := k.ledger.at
	cfg.Entry = tap.Entry{DB: at.DB, Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := at.Dial(ctx)
		var denied *redis.DeniedError
		if errors.As(err, &denied) {
			err = &tap.DeniedError{Err: err}
		}
		return conn, err
	}}
	cfg.Refuse = k.refuse
	if !k.ledger.anything {
		cfg.Unseen = k.scope.Unseen
	}
	cfg.Expiry = tap.Expiry{Own: k.own, For: leastExpiry + limit, Least: leastExpiry}
}

// DeleteLeft is what the guard does for Undo: what is a sealed endpoint, then quoted keys.
func DeleteLeft(ctx context.Context, what []string) (found bool, err error) {
	at, err := redis.Unseal(what[0])
	if err != nil {
		return false, err
	}
	keys := make([]string, len(what)-1)
	for i, quoted := range what[1:] {
		if keys[i], err = strconv.Unquote(quoted); err != nil {
			return false, fmt.Errorf("%q: %w", quoted, err)
		}
	}
	deleted, err := redis.DeleteKeys(ctx, at, keys)
	return deleted > 0, err
}
