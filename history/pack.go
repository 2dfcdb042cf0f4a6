package history

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// pack has the commands of some events of a history that was read, in few bytes: most of a long history is commands, one takes some
// 450 bytes as a Command, and the judges look at one at a time. Once it is full it does not change.
type pack struct {
	words []string
	bytes []byte
}

// perPack is how many commands a pack has: enough to share words, and few enough that a word has a short number.
const perPack = 1024

// packer packs commands in the order in which they are read.
type packer struct {
	pack    *pack // nil: none is being filled
	packed  int
	numbers map[string]uint64 // of the words of the pack
}

// add packs a command and returns where it lies.
func (p *packer) add(c *Command) (in *pack, from uint32) {
	if p.pack == nil {
		p.pack, p.packed, p.numbers = new(pack), 0, make(map[string]uint64)
	}
	in, from = p.pack, uint32(len(p.pack.bytes))
	b := append(in.bytes, flag(c.Late, 1)|flag(c.Again, 2)|flag(c.ReplyDropped, 4))
	b = p.word(b, c.Server)
	b = binary.AppendVarint(b, c.Conn)
	b = binary.AppendUvarint(b, uint64(len(c.Args)))
	for _, arg := range c.Args {
		b = p.word(b, arg)
	}
	b = p.word(b, c.Reply)
	b = binary.AppendVarint(b, int64(c.Sent))
	b = binary.AppendVarint(b, int64(c.Asked))
	b = binary.AppendUvarint(b, uint64(len(c.Changes)))
	for n := range c.Changes {
		change := &c.Changes[n]
		b = p.state(p.state(p.word(b, change.Key), change.Before), change.After)
	}
	in.bytes = b
	if p.packed++; p.packed == perPack {
		p.close()
	}
	return in, from
}

// close gives back the room that the pack did not need. The next command begins another.
func (p *packer) close() {
	if p.pack != nil {
		p.pack.words, p.pack.bytes = slices.Clone(p.pack.words), bytes.Clone(p.pack.bytes)
	}
	p.pack = nil
}

func flag(is bool, bit byte) byte {
	if is {
		return bit
	}
	return 0
}

func (p *packer) word(b []byte, word string) []byte {
	n, ok := p.numbers[word]
	if !ok {
		n = uint64(len(p.pack.words))
		p.pack.words = append(p.pack.words, word)
		p.numbers[word] = n
	}
	return binary.AppendUvarint(b, n)
}

func (p *packer) state(b []byte, s State) []byte {
	return binary.AppendVarint(p.word(p.word(b, s.Type), s.Value), int64(s.TTL))
}

// Room is where a command is unpacked that is good until the next one: see Event.CommandIn. The zero Room is ready to use. It has room for
// what most commands have, so that one is a single piece of memory.
type Room struct {
	command Command
	args    [8]string
	changes [1]Change
}

// command unpacks the command that lies there.
func (p *pack) command(from uint32, in *Room) *Command {
	r := unpacker{p.words, p.bytes[from:]}
	c := &in.command
	flags := r.rest[0]
	r.rest = r.rest[1:]
	c.Late, c.Again, c.ReplyDropped = flags&1 != 0, flags&2 != 0, flags&4 != 0
	c.Server, c.Conn = r.word(), r.int()
	c.Args = room(in.args[:], r.count())
	for n := range c.Args {
		c.Args[n] = r.word()
	}
	c.Reply, c.Sent, c.Asked = r.word(), time.Duration(r.int()), time.Duration(r.int())
	c.Changes = room(in.changes[:], r.count())
	for n := range c.Changes {
		c.Changes[n] = Change{Key: r.word(), Before: r.state(), After: r.state()}
	}
	return c
}

// room is a list of n elements, in few if they fit; nil if there are none.
func room[T any](few []T, n int) []T {
	switch {
	case n == 0:
		return nil
	case n <= len(few):
		return few[:n:n]
	}
	return make([]T, n)
}

// unpacker reads what a packer has written, which nobody can have damaged.
type unpacker struct {
	words []string
	rest  []byte
}

func (r *unpacker) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.rest = r.rest[n:]
	return v
}

func (r *unpacker) int() int64 {
	v, n := binary.Varint(r.rest)
	r.rest = r.rest[n:]
	return v
}

func (r *unpacker) count() int   { return int(r.uint()) }
func (r *unpacker) word() string { return r.words[r.uint()] }

func (r *unpacker) state() State {
	return State{Type: r.word(), Value: r.word(), TTL: time.Duration(r.int())}
}
