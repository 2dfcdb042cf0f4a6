package sim

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// key stands for something large.
type key [16]byte

func keyOf(b []byte) key {
	sum := sha1.Sum(b) // the model of Redis has it, so nobody builds more for it
	return key(sum[:len(key{})])
}

// stateOf follows what the state of a schedule consists of, beside what can be seen of it. The state of a client is all that it was given, and when: its
// code is a function of that, but for chance. Tokens are compared, and nothing else, so they have names: the first that C1 sends is the same one in all
// schedules.
type stateOf struct {
	given  map[string]key // by client
	befell key            // all faults
	tokens []token
	buf    []byte
}

// token is a word with a name of the same length.
type token struct{ word, name []byte }

func newStateOf() stateOf {
	return stateOf{given: map[string]key{}}
}

// shortestToken is how long a word is that may be a token. One that is none has a name as well, and does no harm.
const shortestToken = 8

// sent names the tokens in requests, which are no keys. A name is as long as its token.
func (st *stateOf) sent(client string, m message, isKey func(string) bool) {
	for _, words := range m.requests {
		if name := strings.ToUpper(words[0]); strings.HasPrefix(name, "EVAL") || name == "SCRIPT" {
			words = words[min(2, len(words)):]
		}
		for _, word := range words {
			if len(word) < shortestToken || isKey(word) || slices.ContainsFunc(st.tokens, func(t token) bool { return string(t.word) == word }) {
				continue
			}
			of := 1
			for _, t := range st.tokens {
				if bytes.HasPrefix(t.name, []byte("<"+client+".")) {
					of++
				}
			}
			name := fmt.Sprintf("<%s.%d>", client, of)
			st.tokens = append(st.tokens, token{[]byte(word), []byte(name + strings.Repeat(" ", max(0, len(word)-len(name))))})
		}
	}
}

// renamed is a text in which tokens have their names.
func (st *stateOf) renamed(b []byte) []byte {
	for _, t := range st.tokens {
		if bytes.Contains(b, t.word) {
			b = bytes.ReplaceAll(b, t.word, t.name)
		}
	}
	return b
}

// gave takes in what a client is given, and returns all that it has been given.
func (st *stateOf) gave(client string, now int64, what, said string) key {
	before := st.given[client]
	b := append(st.buf[:0], before[:]...)
	b = binary.AppendVarint(b, now)
	b = append(append(append(append(b, client...), ' '), what...), ' ')
	b = append(b, said...)
	st.buf = b
	k := keyOf(st.renamed(b))
	st.given[client] = k
	return k
}

// of is the state of a schedule.
func (st *stateOf) of(s *schedule, held map[any]bool) key {
	b := binary.AppendVarint(st.buf[:0], int64(s.bubble.Now()))
	b = append(binary.AppendVarint(b, int64(s.struck)), st.befell[:]...)
	for _, v := range s.bubble.servers {
		b = v.redis().AppendState(b)
	}
	b = s.bubble.resource.redis().AppendState(b)
	for _, p := range s.programs {
		given, busy := st.given[p.handle.Name], int64(0)
		if p.op != nil {
			busy = 1 + int64(p.op.Op)
		}
		b = append(b, given[:]...)
		for _, n := range []int64{busy, int64(len(p.ahead)), int64(p.retries), int64(p.patience)} {
			b = binary.AppendVarint(b, n)
		}
		b = appendFlags(b, p.gaveUp, held[p], s.late[p.handle.Name], s.held[p.handle.Name])
	}
	for _, f := range s.sortedFlows() {
		b = appendFlags(append(b, f.name...), held[f], f.conn.broken, f.conn.closing)
		b = append(b, byte(f.conn.op), byte(f.conn.busy))
		for i := range f.pending {
			b = append(append(b, f.pending[i].said()...), 0)
		}
	}
	st.buf = b
	return keyOf(st.renamed(b))
}

func appendFlags(b []byte, flags ...bool) []byte {
	for _, flag := range flags {
		n := byte(0)
		if flag {
			n = 1
		}
		b = append(b, n)
	}
	return b
}

// said is what a message says.
func (m *message) said() string {
	var b strings.Builder
	for _, words := range m.requests {
		b.WriteString("q")
		for _, word := range words {
			b.WriteString(word)
			b.WriteByte(' ')
		}
	}
	for _, reply := range m.replies {
		b.WriteString("r")
		b.WriteString(reply.String())
	}
	b.WriteString(m.told.Channel)
	b.WriteString(m.told.Text)
	return b.String()
}

// hangUp says whether it says that the client has hung up.
func (m *message) hangUp() bool { return m.requests == nil && !m.toClient() }
