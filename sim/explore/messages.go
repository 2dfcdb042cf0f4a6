package explore

import (
	"strconv"
	"strings"

	"github.com/locklab/locklab/sim/process"
	"github.com/locklab/locklab/sim/redis"
)

// request is what a client sends: commands that a server executes in a row.
type request struct {
	server   int8
	conn     int
	commands [][]string
	tokens   tokens
	renamed  []uint32 // by order; 0: not known yet
}

func (r *request) text() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(int(r.server)) + "/" + strconv.Itoa(r.conn))
	for _, command := range r.commands {
		b.WriteString("\x00")
		for _, word := range command {
			b.WriteString(strconv.Itoa(len(word)) + ":" + word)
		}
	}
	return b.String()
}

// reply is what a server answers: one reply to each command.
type reply struct {
	replies []redis.Reply
	tokens  tokens
	renamed []uint32
}

// texts numbers requests and replies. Number 0 is none.
type texts struct {
	orders   []order
	requests []request
	replies  []reply
	numbers  map[string]uint32
}

func newTexts(orders []order) *texts {
	return &texts{orders: orders, requests: make([]request, 1), replies: make([]reply, 1), numbers: map[string]uint32{}}
}

func (t *texts) request(w process.Wait) uint32 {
	return t.addRequest(request{server: int8(w.Server), conn: w.Conn, commands: w.Commands})
}

func (t *texts) addRequest(r request) uint32 {
	text := r.text()
	if n, known := t.numbers["q"+text]; known {
		return n
	}
	r.tokens, r.renamed = mentioned(text), make([]uint32, len(t.orders))
	t.requests = append(t.requests, r)
	n := uint32(len(t.requests) - 1)
	t.numbers["q"+text] = n
	return n
}

func (t *texts) reply(replies []redis.Reply) uint32 {
	var b strings.Builder
	for _, r := range replies {
		b.WriteString(strconv.Itoa(int(r.Kind)) + r.String() + "\x00")
	}
	text := b.String()
	if n, known := t.numbers["p"+text]; known {
		return n
	}
	t.replies = append(t.replies, reply{replies: replies, tokens: mentioned(text), renamed: make([]uint32, len(t.orders))})
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
	r := t.requests[n]
	twin := request{server: r.server, conn: r.conn}
	for _, command := range r.commands {
		words := make([]string, len(command))
		for i, word := range command {
			words[i] = t.orders[o].rename(word)
		}
		twin.commands = append(twin.commands, words)
	}
	renamed := t.addRequest(twin)
	t.requests[n].renamed[o] = renamed
	return renamed
}

func (t *texts) renameReply(o int, n uint32) uint32 {
	if n == 0 || t.replies[n].tokens == 0 {
		return n
	}
	if renamed := t.replies[n].renamed[o]; renamed != 0 {
		return renamed
	}
	renamed := t.reply(renameAll(&t.orders[o], t.replies[n].replies))
	t.replies[n].renamed[o] = renamed
	return renamed
}

func renameAll(o *order, replies []redis.Reply) []redis.Reply {
	twins := make([]redis.Reply, len(replies))
	for i, r := range replies {
		twins[i] = r
		twins[i].Text = o.rename(r.Text)
		if r.List != nil {
			twins[i].List = renameAll(o, r.List)
		}
	}
	return twins
}
