package explore

import (
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// behavior is what a step of a lock asks, tells, waits for and remembers. Numbers that may be times are apart.
type behavior struct {
	shape   uint64
	numbers []float64 // in order; times are in milliseconds
	stamps  []float64 // in what it was given, of others; only of a path that was executed again
}

// masked is a text without the numbers and the names of tokens in it.
type masked struct {
	text    string
	numbers []float64
}

// observer describes behavior. Clients that have changed places behave alike.
type observer struct {
	a        *automaton
	seed     maphash.Seed
	requests map[uint64]masked // by client and number
	replies  map[uint64]uint64 // likewise, hashed
}

func newObserver(a *automaton) observer {
	return observer{a: a, seed: maphash.MakeSeed(), requests: map[uint64]masked{}, replies: map[uint64]uint64{}}
}

func byClient(client uint8, number uint32) uint64 { return uint64(client)<<32 | uint64(number) }

// of describes a step that has led to a node. Whether it has read the clock counts, too: what it goes by then may show later only.
func (o *observer) of(n *node, output uint32, reads bool) behavior {
	var b strings.Builder
	var numbers []float64
	for k, sl := range n.slots[:n.tasks] {
		b.WriteString("\x01" + strconv.Itoa(k) + strconv.Itoa(int(sl.kind)))
		if sl.request != 0 {
			q := o.request(n.client, sl.request)
			b.WriteString(q.text)
			numbers = append(numbers, q.numbers...)
		}
		if sl.due >= 0 && sl.due != never {
			numbers = append(numbers, float64(sl.due))
		}
	}
	for _, notice := range o.a.reported[output] {
		valid, limited := notice.Answer.Valid, notice.Answer.Limited
		if notice.Kind == process.Renewed {
			valid, limited = notice.Valid, true
		}
		b.WriteString("\x02" + strconv.Itoa(int(notice.Kind)) + string(notice.Op) + "\x00" + string(notice.Answer.Outcome))
		switch {
		case limited && valid <= history.ExpiryMargin:
			b.WriteString("ended")
		case limited:
			numbers = append(numbers, float64(valid)/float64(time.Millisecond))
		}
		if fence := notice.Answer.Fence; fence != 0 {
			numbers = append(numbers, float64(fence))
		}
	}
	if reads {
		b.WriteByte(3)
	}
	return behavior{shape: mix(maphash.String(o.seed, b.String())^n.outline, uint64(len(numbers))+1), numbers: numbers}
}

func (o *observer) request(client uint8, number uint32) masked {
	key := byClient(client, number)
	known, met := o.requests[key]
	if met {
		return known
	}
	r := &o.a.texts.requests[number]
	var b strings.Builder
	b.WriteString(strconv.Itoa(int(r.server)) + "/" + strconv.Itoa(r.conn))
	for _, command := range r.commands {
		b.WriteByte(0)
		for _, word := range command {
			b.WriteString(" " + known.mask(anonymous(client, word)))
		}
	}
	known.text = b.String()
	o.requests[key] = known
	return known
}

// input is an input of a client. Replies that differ in their numbers only are alike.
func (o *observer) input(client uint8, in input) uint64 {
	packed := uint64(in.packed())
	if in.kind != inputReply {
		return packed
	}
	key := byClient(client, in.arg)
	known, met := o.replies[key]
	if !met {
		var b strings.Builder
		for _, r := range o.a.texts.replies[in.arg].replies {
			var m masked
			b.WriteString(m.mask(anonymous(client, r.String())) + "\x00")
		}
		known = maphash.String(o.seed, b.String())
		o.replies[key] = known
	}
	return mix(known^uint64(in.slot), uint64(in.kind)+1)
}

// outline is a hash of what an instance's lock remembers, but for numbers, and those; 0: it is not to be seen.
func (a *automaton) outline(s *instance) (uint64, []float64) {
	outline, numbers, ok := s.process.Outline()
	if !ok {
		return 0, nil
	}
	m := masked{numbers: numbers}
	return fingerprintText(m.mask(anonymous(uint8(s.host.client), string(outline)))) | 1, m.numbers
}

// fingerprintText is a hash that is the same in every run.
func fingerprintText(text string) uint64 {
	h := uint64(len(text))
	for _, c := range []byte(text) {
		h = mix(h^uint64(c), 0xe7037ed1a0b428db)
	}
	return h
}

// mask puts the numbers of two digits and more in a text apart.
func (m *masked) mask(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end > i && text[end] == '.') {
			end++
		}
		if end < i+2 {
			end = i + 1
			b.WriteByte(text[i])
		} else {
			value, _ := strconv.ParseFloat(strings.TrimRight(text[i:end], "."), 64) // what is no number counts as none
			m.numbers = append(m.numbers, value)
			b.WriteByte('#')
		}
		i = end
	}
	return b.String()
}

// anonymous is a text in which tokens are those of a client, or of others in the order in which they appear.
func anonymous(client uint8, text string) string {
	var renamed []byte
	var others [mostClients]byte
	met := byte(0)
	eachToken(text, func(at, owner, _ int) {
		if renamed == nil {
			renamed = []byte(text)
		}
		name := byte('s')
		if owner != int(client) {
			if others[owner] == 0 {
				met++
				others[owner] = met
			}
			name = 's' + others[owner]
		}
		renamed[at+1], renamed[at+tokenLength-1] = name, '?'
	})
	if renamed == nil {
		return text
	}
	return string(renamed)
}
