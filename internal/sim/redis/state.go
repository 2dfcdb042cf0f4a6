package redis

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/locklab/locklab/internal/sim/service"
)

// Clone is a server in the same state, from which it goes on by itself.
func (s *Server) Clone() *Server {
	twin := &Server{
		now: s.now, epoch: s.epoch, keys: make(map[string]*entry, len(s.keys)), conns: make(map[int]*conn, len(s.conns)),
		scripts: maps.Clone(s.scripts), library: s.library, unknown: s.unknown,
	}
	for name, e := range s.keys {
		twin.keys[name] = e.clone()
	}
	for id, c := range s.conns {
		if copied := *c; !c.idle() {
			copied.queue, copied.watched = slices.Clone(c.queue), maps.Clone(c.watched)
			copied.topics, copied.inbox = slices.Clone(c.topics), slices.Clone(c.inbox)
			twin.conns[id] = &copied
		}
	}
	return twin
}

func (e *entry) clone() *entry {
	twin := *e
	twin.hash, twin.list, twin.scores, twin.set = maps.Clone(e.hash), slices.Clone(e.list), maps.Clone(e.scores), maps.Clone(e.set)
	return &twin
}

// AppendState appends all that the future of the server depends on. Two servers append the same bytes if and only if nobody can
// tell them apart: expiry counts from now, so that it does not matter when a state was reached, unless the server has a wall clock.
func (s *Server) AppendState(b []byte) []byte {
	if s.epoch != 0 {
		b = binary.AppendVarint(b, int64(s.epoch+s.now))
	}
	b = binary.AppendUvarint(b, uint64(len(s.keys)))
	for _, name := range sortedKeys(s.keys) {
		b = s.keys[name].append(service.AppendText(b, name), s)
	}
	b = appendTexts(b, sortedKeys(s.scripts))
	live := slices.DeleteFunc(slices.Sorted(maps.Keys(s.conns)), func(id int) bool { return s.conns[id].idle() })
	b = binary.AppendUvarint(b, uint64(len(live)))
	for _, id := range live {
		b = s.conns[id].append(binary.AppendVarint(b, int64(id)))
	}
	return b
}

func (e *entry) append(b []byte, s *Server) []byte {
	left := int64(-1)
	if e.expires != never {
		left = int64(e.expires - s.now)
	}
	b = binary.AppendVarint(append(b, byte(e.kind)), left)
	b = service.AppendText(b, e.text)
	b = appendTexts(b, e.list)
	b = binary.AppendUvarint(b, uint64(len(e.hash)))
	for _, field := range sortedKeys(e.hash) {
		b = service.AppendText(service.AppendText(b, field), e.hash[field])
	}
	b = binary.AppendUvarint(b, uint64(len(e.scores)))
	for _, member := range sortedKeys(e.scores) {
		b = binary.BigEndian.AppendUint64(service.AppendText(b, member), math.Float64bits(e.scores[member]))
	}
	return appendTexts(b, sortedKeys(e.set))
}

// idle connections are as good as none.
func (c *conn) idle() bool {
	return !c.multi && len(c.watched)+len(c.topics)+len(c.inbox) == 0
}

func (c *conn) append(b []byte) []byte {
	b = service.AppendFlags(b, c.multi, c.spoilt, c.dirty)
	b = binary.AppendUvarint(b, uint64(len(c.queue)))
	for _, args := range c.queue {
		b = appendTexts(b, args)
	}
	b = appendTexts(b, sortedKeys(c.watched))
	b = appendTexts(b, c.topics)
	return c.inbox.Append(b)
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, text := range texts {
		b = service.AppendText(b, text)
	}
	return b
}
