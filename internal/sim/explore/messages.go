package explore

import (
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// request is what a client sends: commands that a server executes in a row.
type request struct {
	server   int8
	conn     int
	commands [][]string
	tokens   tokens
	top      uint32   // see topNumber
	renamed  []uint32 // by order; 0: not known yet
	outline  string   // see texts.outline; empty: not known yet
	life     bool     // see asksLife
}

func (r *request) text() string { return string(r.appendText(nil)) }

func (r *request) appendText(b []byte) []byte {
	length := 0
	for _, command := range r.commands {
		for _, word := range command {
			length += len(word) + 4
		}
	}
	b = slices.Grow(b, length+16)
	b = strconv.AppendInt(b, int64(r.server), 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(r.conn), 10)
	for _, command := range r.commands {
		b = append(b, 0)
		for _, word := range command {
			b = strconv.AppendInt(b, int64(len(word)), 10)
			b = append(b, ':')
			b = append(b, word...)
		}
	}
	return b
}

// outline is the text of a request without what may be a time.
func (t *texts) outline(n uint32) string {
	r := &t.requests[n]
	if r.outline == "" {
		r.outline = string(withoutNumbers(r.appendText(nil)))
	}
	return r.outline
}

// reply is what a server answers: one reply to each command.
type reply struct {
	replies []service.Reply
	tokens  tokens
	top     uint32
	renamed []uint32
}

// texts numbers requests and replies. Number 0 is none.
type texts struct {
	orders   []order
	requests []request
	replies  []reply
	numbers  map[string]uint32
	life     map[string]bool // see asksLife
	// sites are the lines of the lock's code that wait at each node; nil: nobody asks for them.
	sites map[uint32][]string
}

func newTexts(orders []order) *texts {
	return &texts{orders: orders, requests: make([]request, 1), replies: make([]reply, 1), numbers: map[string]uint32{}, life: map[string]bool{}}
}

func (t *texts) request(w process.Wait) uint32 {
	return t.addRequest(requestOf(w))
}

func requestOf(w process.Wait) request {
	return request{server: int8(w.Server), conn: w.Conn, commands: w.Commands}
}

func (t *texts) addRequest(r request) uint32 {
	text := r.text()
	if n, known := t.numbers["q"+text]; known {
		return n
	}
	r.tokens, r.top, r.renamed, r.life = mentioned(text), topNumber(text), make([]uint32, len(t.orders)), t.asksLife(r.commands)
	t.requests = append(t.requests, r)
	n := uint32(len(t.requests) - 1)
	t.numbers["q"+text] = n
	return n
}

// sameWords says whether two requests are the same but for their connections.
func (t *texts) sameWords(a, b uint32) bool {
	return a == b || t.requests[a].server == t.requests[b].server && slices.EqualFunc(t.requests[a].commands, t.requests[b].commands, slices.Equal)
}

func (t *texts) reply(replies []service.Reply) uint32 {
	var b strings.Builder
	for _, r := range replies {
		b.WriteString(strconv.Itoa(int(r.Kind)) + r.String() + "\x00")
	}
	text := b.String()
	if n, known := t.numbers["p"+text]; known {
		return n
	}
	t.replies = append(t.replies, reply{replies: replies, tokens: mentioned(text), top: topNumber(text), renamed: make([]uint32, len(t.orders))})
	n := uint32(len(t.replies) - 1)
	t.numbers["p"+text] = n
	return n
}

// renameRequest is the request as it is after the clients have changed places.
func (t *texts) renameRequest(o int, n uint32) uint32 {
	if n == 0 || t.requests[n].tokens == 0 {
		return n
	}
	if renamed := t.requests[n].renamed[o]; renamed != 0 {
		return renamed
	}
	renamed := t.renamed(n, t.orders[o].rename)
	t.requests[n].renamed[o] = renamed
	return renamed
}

// renamed is the number of a request in which every word is renamed.
func (t *texts) renamed(n uint32, rename func(string) string) uint32 {
	r := t.requests[n]
	twin := request{server: r.server, conn: r.conn}
	for _, command := range r.commands {
		words := make([]string, len(command))
		for i, word := range command {
			words[i] = rename(word)
		}
		twin.commands = append(twin.commands, words)
	}
	return t.addRequest(twin)
}

func (t *texts) renameReply(o int, n uint32) uint32 {
	if n == 0 || t.replies[n].tokens == 0 {
		return n
	}
	if renamed := t.replies[n].renamed[o]; renamed != 0 {
		return renamed
	}
	renamed := t.reply(renameReplies(t.replies[n].replies, t.orders[o].rename))
	t.replies[n].renamed[o] = renamed
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
