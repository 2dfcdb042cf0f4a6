package live

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

// keysTime bounds the deletion of keys: the server may be gone.
const keysTime = 10 * time.Second

// ledger remembers the keys that a run has written to a server at an address: to look for them could delay the server for seconds. The guard
// knows each key before it is written. It is safe for concurrent use.
type ledger struct {
	guard    *process.Guard
	at       redis.Endpoint
	prefix   string // that every key contains
	anything bool   // clients may send any command
	table    commands.Table

	mu   sync.Mutex
	left map[string]bool // false: has been deleted once, when its cell ended
}

func newLedger(guard *process.Guard, at redis.Endpoint, prefix string, anything bool, table commands.Table) *ledger {
	return &ledger{guard: guard, at: at, prefix: prefix, anything: anything, table: table, left: map[string]bool{}}
}

// note remembers a key that is about to be written.
func (l *ledger) note(key string) error {
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
			err = l.guard.Undo(undoKeys, sealed)
		}
		if err != nil {
			return err
		}
	}
	return l.guard.Undo(undoKeys, strconv.Quote(key))
}

// delete deletes keys. What it cannot delete is left to close.
func (l *ledger) delete(keys []string) {
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

// close deletes all keys of the run again, because a request may have arrived late. If it fails, the error names the keys that may be
// left, and how to delete them.
func (l *ledger) close() error {
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
	return errors.Join(err, l.guard.ForgetUndo(undoKeys))
}

// mostNamed bounds the keys that an error names.
const mostNamed = 100

// remains is the error about keys that may be left, or nil if there are none.
func (l *ledger) remains(err error, keys []string) error {
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

// keys are a cell's keys on one of its links to a server at an address. A nil *keys is a server of the lab's own, where nothing has to be
// remembered. It is safe for concurrent use.
type keys struct {
	ledger *ledger
	prefix []byte // that every key contains: locks derive names of further keys from a key
	scope  *commands.Scope

	mu   sync.Mutex
	seen map[string]struct{}
}

func (w *World) newKeys(prefix string) *keys {
	if w.ledger == nil {
		return nil
	}
	k := &keys{ledger: w.ledger, prefix: []byte(prefix), seen: map[string]struct{}{}}
	k.scope = w.ledger.table.NewScope(k.own)
	return k
}

func (k *keys) own(name []byte) bool { return bytes.Contains(name, k.prefix) }

// note remembers keys that are about to be written.
func (k *keys) note(keys []string) error {
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
		if err := k.ledger.note(key); err != nil {
			return err
		}
		k.seen[key] = struct{}{}
	}
	return nil
}

// all lists the keys that were written.
func (k *keys) all() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.seen))
}

// delete deletes the keys when nobody writes them any more.
func (k *keys) delete() {
	if k != nil {
		k.ledger.delete(k.all())
	}
}

// refuse says why a command must not reach the server, or "". It remembers the keys that the command may write.
func (k *keys) refuse(args [][]byte) string {
	traits := k.ledger.table.Find(args)
	if !k.ledger.anything {
		if why := k.outside(traits.Name, args); why != "" {
			return why + ", and the server is not the lab's (--allow-any-command)"
		}
	}
	if !traits.Writes {
		return ""
	}
	if err := k.note(traits.OwnKeys(args, k.own)); err != nil {
		return err.Error()
	}
	return ""
}

// outside says why a command touches more than the cell's keys, or "".
func (k *keys) outside(name string, args [][]byte) string {
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

// confine has a tap enter the server at the address, and keep to the cell's keys.
func (k *keys) confine(cfg *tap.Config, limit time.Duration) {
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
