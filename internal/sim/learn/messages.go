package learn

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// Request is what a client sends: commands that a server executes in a row.
type Request struct {
	Server   int8
	Conn     int
	Commands [][]string
	Tokens   Tokens
	Top      uint32   // see topNumber
	renamed  []uint32 // by order; 0: not known yet
	outline  string   // see texts.outline; empty: not known yet
	Life     bool     // see asksLife
}

func (r *Request) Text() string { return string(r.appendText(nil)) }

func (r *Request) appendText(b []byte) []byte {
	length := 0
	for _, command := range r.Commands {
		for _, word := range command {
			length += len(word) + 4
		}
	}
	b = slices.Grow(b, length+16)
	b = strconv.AppendInt(b, int64(r.Server), 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(r.Conn), 10)
	for _, command := range r.Commands {
		b = append(b, 0)
		for _, word := range command {
			b = strconv.AppendInt(b, int64(len(word)), 10)
			b = append(b, ':')
			b = append(b, word...)
		}
	}
	return b
}

// Outline is the text of a request without what may be a time.
func (t *Texts) Outline(n uint32) string {
	r := &t.Requests[n]
	if r.outline == "" {
		r.outline = string(WithoutNumbers(r.appendText(nil)))
	}
	return r.outline
}

// reply is what a server answers: one reply to each command.
type reply struct {
	Replies []service.Reply
	Tokens  Tokens
	Top     uint32
	renamed []uint32
}

// Texts numbers requests and replies. Number 0 is none.
type Texts struct {
	Orders   []Order
	Requests []Request
	Replies  []reply
	numbers  map[string]uint32
	life     map[string]bool // see asksLife
	// Sites are the lines of the lock's code that wait at each node; nil: nobody asks for them.
	Sites map[uint32][]string
}

func NewTexts(orders []Order) *Texts {
	return &Texts{Orders: orders, Requests: make([]Request, 1), Replies: make([]reply, 1), numbers: map[string]uint32{}, life: map[string]bool{}}
}

func (t *Texts) request(w process.Wait) uint32 {
	return t.AddRequest(requestOf(w))
}

func requestOf(w process.Wait) Request {
	return Request{Server: int8(w.Server), Conn: w.Conn, Commands: w.Commands}
}

func (t *Texts) AddRequest(r Request) uint32 {
	text := r.Text()
	if n, known := t.numbers["q"+text]; known {
		return n
	}
	r.Tokens, r.Top, r.renamed, r.Life = Mentioned(text), TopNumber(text), make([]uint32, len(t.Orders)), t.asksLife(r.Commands)
	t.Requests = append(t.Requests, r)
	n := uint32(len(t.Requests) - 1)
	t.numbers["q"+text] = n
	return n
}

// SameWords says whether two requests are the same but for their connections.
func (t *Texts) SameWords(a, b uint32) bool {
	return a == b || t.Requests[a].Server == t.Requests[b].Server && slices.EqualFunc(t.Requests[a].Commands, t.Requests[b].Commands, slices.Equal)
}

func (t *Texts) Reply(replies []service.Reply) uint32 {
	var b strings.Builder
	for _, r := range replies {
		b.WriteString(strconv.Itoa(int(r.Kind)) + r.String() + "\x00")
	}
	text := b.String()
	if n, known := t.numbers["p"+text]; known {
		return n
	}
	t.Replies = append(t.Replies, reply{Replies: replies, Tokens: Mentioned(text), Top: TopNumber(text), renamed: make([]uint32, len(t.Orders))})
	n := uint32(len(t.Replies) - 1)
	t.numbers["p"+text] = n
	return n
}

// RenameRequest is the request as it is after the clients have changed places.
func (t *Texts) RenameRequest(o int, n uint32) uint32 {
	if n == 0 || t.Requests[n].Tokens == 0 {
		return n
	}
	if renamed := t.Requests[n].renamed[o]; renamed != 0 {
		return renamed
	}
	renamed := t.renamed(n, t.Orders[o].Rename)
	t.Requests[n].renamed[o] = renamed
	return renamed
}

// renamed is the number of a request in which every word is renamed.
func (t *Texts) renamed(n uint32, rename func(string) string) uint32 {
	r := t.Requests[n]
	twin := Request{Server: r.Server, Conn: r.Conn}
	for _, command := range r.Commands {
		words := make([]string, len(command))
		for i, word := range command {
			words[i] = rename(word)
		}
		twin.Commands = append(twin.Commands, words)
	}
	return t.AddRequest(twin)
}

func (t *Texts) RenameReply(o int, n uint32) uint32 {
	if n == 0 || t.Replies[n].Tokens == 0 {
		return n
	}
	if renamed := t.Replies[n].renamed[o]; renamed != 0 {
		return renamed
	}
	renamed := t.Reply(renameReplies(t.Replies[n].Replies, t.Orders[o].Rename))
	t.Replies[n].renamed[o] = renamed
	return renamed
}

func renameReplies(replies []service.Reply, rename func(string) string) []service.Reply {
	twins := make([]service.Reply, len(replies))
	for i, r := range replies {
		twins[i] = r
		twins[i].Text = rename(r.Text)
		if r.List != nil {
			twins[i].List = renameReplies(r.List, rename)
		}
	}
	return twins
}

// Digits is the length of the number behind the name of a sequential node.
const Digits = 10

// TopNumber is the highest number of a sequential node that a text mentions, plus 1; 0: none.
func TopNumber(text string) (top uint32) {
	for at := 0; at < len(text); at++ {
		end := at
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if end-at >= Digits {
			if n, err := strconv.ParseUint(text[at:at+Digits], 10, 31); err == nil {
				top = max(top, uint32(n)+1)
			}
		}
		at = end
	}
	return top
}

// lifeWords match a command, or a script, that asks how long a key lives. A script that is named by its hash may.
var lifeWords = regexp.MustCompile(`(?i)\bp?ttl\b|^evalsha`)

func (t *Texts) asksLife(commands [][]string) bool {
	return slices.ContainsFunc(commands, func(words []string) bool {
		begin := strings.Join(words[:min(len(words), 2)], " ") // mostly a script that was met before
		asks, known := t.life[begin]
		if !known {
			asks = lifeWords.MatchString(begin)
			t.life[begin] = asks
		}
		return asks
	})
}

// NamesScripts says whether it names a script by its hash, or loads one.
func (r *Request) NamesScripts() bool {
	return slices.ContainsFunc(r.Commands, func(words []string) bool {
		name := strings.ToUpper(words[0])
		return name == "SCRIPT" || strings.HasPrefix(name, "EVALSHA")
	})
}

// WithoutNumbers leaves out what may be a time, but for its length: numbers of two digits or more. A token has but one.
func WithoutNumbers(text []byte) []byte {
	for i := 0; i < len(text); {
		begin := i
		for i < len(text) && (text[i] >= '0' && text[i] <= '9' || i > begin && text[i] == '.') {
			i++
		}
		for k := begin; i > begin+1 && k < i; k++ {
			text[k] = '#'
		}
		if i == begin {
			i++
		}
	}
	return text
}

// By is a request that goes by another connection.
func (t *Texts) By(conn int, n uint32) uint32 {
	r := t.Requests[n]
	return t.AddRequest(Request{Server: r.Server, Conn: conn, Commands: r.Commands})
}
