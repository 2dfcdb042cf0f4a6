package explore

import (
	"encoding/binary"
)

const (
	mostServers = 5
	mostTravel  = 2 // requests of a client that nobody waits for any more
	mostCharges = 3
)

// phase is where a client is in its round: acquire, work, release.
type phase uint8

const (
	waiting   phase = iota // it wants the lock, and has not called
	acquiring              // an operation is under way …
	holding                // it was told that it has the lock
	working
	worked
	releasing
	finished // all its rounds
	crashed
)

// flags of a client.
const (
	futile    uint16 = 1 << iota // its last try was refused, and nothing has changed since: the next would be the same
	asleep                       // it has been paused since its last step
	busy                         // the work under its lock takes long: time passes, and what runs beside it goes on
	on                           // it believes to have the lock: it has neither released nor lost it
	tenure                       // the lock was rightfully its own when its release was called
	changed                      // that release has changed the lock
	removed                      // that release has removed the client's own lock
	looked                       // that release has named the lock
	late                         // somebody who took the lock after it was told so before it was
	metGhost                     // its acquire met a ghost
	challenge                    // it has replaced the value of a live owner
	took                         // its acquire has taken the lock on the server
)

// client is the state of one client, as far as it is not in its node. Times count from now.
type client struct {
	node    uint32
	replies [mostSlots]uint32 // to the requests that have been served
	due     [mostSlots]ms
	travel  [mostTravel]uint32 // see surely
	phase   phase
	round   uint8
	skew    int8 // 1: its clock is ahead; -1: behind
	flags   uint16
	ends    ms    // when its hold ends by what the lock has declared
	claims  ms    // when the lease of its challenge ends
	since   ms    // how long ago its operation's latest command or, before that, its call was
	from    ms    // how long ago the latest command was that got or prolonged the lease, until its reply is acted on
	after   uint8 // the clients that took the lock after it did, while it had not been told
	read    uint8 // what its work has read
	before  uint8 // the highest update that had been acknowledged when it was called
	fence   uint8 // the highest fence when its acquire was called
}

// What is on its way is a request, with the operation that it belongs to and what became of that.
const (
	surely      = 1 << 31 // it arrives before time passes; another one may arrive at any time, or never
	current     = 1 << 30 // its operation has not ended
	travelOp    = 27
	travelEarly = 22      // who was acquiring already when its acquire ended; see owner.early
	succeeded   = 1 << 21 // its operation has ended well
	travelAll   = succeeded - 1
)

func (c *client) has(flag uint16) bool { return c.flags&flag != 0 }
func (c *client) set(flag uint16)      { c.flags |= flag }
func (c *client) clear(flag uint16)    { c.flags &^= flag }

// standing is what is known about the acquire that a claim rests on; see checker.
type standing uint8

const (
	pending standing = iota
	granted
	refused
	dubious
)

// owner is whose the lock is by what the server has carried out.
type owner struct {
	client   uint8 // plus 1; 0: nobody's
	standing standing
	over     bool  // it has called release, or was told that the lock was lost
	there    bool  // the key was there when it was last seen
	stale    bool  // it may have changed since, unseen
	early    uint8 // who had called the acquire that it is in before the owner's ended
	ends     ms    // when the lease ends
	sure     ms    // when it ends as far as the owner has been told
}

// tally is what the client that made a lock which counts was told of it since.
type tally struct {
	client             uint8 // plus 1; 0: nobody's
	acquired, released uint8
	unsure             bool
}

// charge is what a client did to another's lock, as long as it is open whether they were told that they had it.
type charge struct {
	anomaly          uint8
	culprit, victim  uint8
	ifCulprit, ifVic bool
}

// state is all that the future depends on, and what the properties have to remember.
type state struct {
	clients  [mostClients]client
	servers  [mostServers]uint32
	former   [mostServers]uint32 // before the last write, for a fail-over
	resource uint32
	now      ms // counted only if a lock reads clocks
	spent    [faultKinds]uint8
	owner    owner
	turn     uint8 // whose grant was the latest, plus 1
	over     bool  // that client has released
	charges  [mostCharges]charge
	tally    tally
	acked    uint32 // values that an acknowledged update has read
	highest  uint8  // of them, plus 1
	fence    uint8  // the largest so far
}

// faults is how many faults have been spent.
func (s *state) faults() int {
	n := 0
	for _, spent := range s.spent {
		n += int(spent)
	}
	return n
}

// append writes the state down, for so many clients and servers.
func (s *state) append(b []byte, clients, servers int) []byte {
	for i := range clients {
		b = s.clients[i].append(b)
	}
	for i := range servers {
		b = binary.LittleEndian.AppendUint32(b, s.servers[i])
		if s.former[i] != 0 {
			b = append(b, 1)
			b = binary.LittleEndian.AppendUint32(b, s.former[i])
		} else {
			b = append(b, 0)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, s.resource)
	b = appendMS(b, s.now)
	b = append(b, s.spent[:]...)
	o := &s.owner
	b = append(b, o.client, byte(o.standing), bit(o.over, 0)|bit(o.there, 1)|bit(o.stale, 2)|bit(s.over, 3), s.turn, s.highest, s.fence)
	b = appendMS(appendMS(b, o.ends), o.sure)
	b = binary.LittleEndian.AppendUint32(b, s.acked)
	b = append(b, o.early, s.tally.client)
	if s.tally.client != 0 {
		b = append(b, s.tally.acquired, s.tally.released, bit(s.tally.unsure, 0))
	}
	for _, c := range s.charges {
		b = append(b, c.anomaly)
		if c.anomaly != 0 {
			b = append(b, c.culprit, c.victim, bit(c.ifCulprit, 0)|bit(c.ifVic, 1))
		}
	}
	return b
}

func (c *client) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, c.node)
	b = append(b, byte(c.phase)|c.round<<4, byte(c.skew), byte(c.flags), byte(c.flags>>8))
	// Most of what follows is nothing most of the time.
	mask := len(b)
	b = append(b, 0, 0)
	var has uint16
	for i := range mostSlots {
		if c.replies[i] != 0 {
			has |= 1 << i
			b = binary.LittleEndian.AppendUint32(b, c.replies[i])
		}
		if c.due[i] != never {
			has |= 8 << i
			b = appendMS(b, c.due[i])
		}
	}
	for i := range mostTravel {
		if c.travel[i] != 0 {
			has |= 64 << i
			b = binary.LittleEndian.AppendUint32(b, c.travel[i])
		}
	}
	if c.ends != never {
		has |= 256
		b = appendMS(b, c.ends)
	}
	if c.claims != 0 || c.since != 0 || c.after != 0 || c.from != 0 {
		has |= 512
		b = append(appendMS(appendMS(appendMS(b, c.claims), c.since), c.from), c.after)
	}
	if c.read != 0 || c.before != 0 || c.fence != 0 {
		has |= 1024
		b = append(b, c.read, c.before, c.fence)
	}
	b[mask], b[mask+1] = byte(has), byte(has>>8)
	return b
}

func appendMS(b []byte, t ms) []byte { return binary.LittleEndian.AppendUint32(b, uint32(t)) }

func bit(b bool, n int) byte {
	if b {
		return 1 << n
	}
	return 0
}

// reader reads what append has written.
type reader []byte

func (r *reader) byte() byte {
	b := (*r)[0]
	*r = (*r)[1:]
	return b
}

func (r *reader) word() uint32 {
	w := binary.LittleEndian.Uint32(*r)
	*r = (*r)[4:]
	return w
}

func (r *reader) ms() ms { return ms(r.word()) }

func (s *state) read(b []byte, clients, servers int) {
	*s = state{}
	r := reader(b)
	for i := range s.clients {
		if i < clients {
			s.clients[i].decode(&r)
		} else {
			s.clients[i] = freshClient(i)
		}
	}
	for i := range servers {
		s.servers[i] = r.word()
		if r.byte() != 0 {
			s.former[i] = r.word()
		}
	}
	s.resource, s.now = r.word(), r.ms()
	copy(s.spent[:], r)
	r = r[len(s.spent):]
	o := &s.owner
	o.client, o.standing = r.byte(), standing(r.byte())
	bits := r.byte()
	o.over, o.there, o.stale, s.over = bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
	s.turn, s.highest, s.fence = r.byte(), r.byte(), r.byte()
	o.ends, o.sure = r.ms(), r.ms()
	s.acked, o.early = r.word(), r.byte()
	if s.tally.client = r.byte(); s.tally.client != 0 {
		s.tally.acquired, s.tally.released, s.tally.unsure = r.byte(), r.byte(), r.byte() != 0
	}
	for i := range s.charges {
		if anomaly := r.byte(); anomaly != 0 {
			c := charge{anomaly: anomaly, culprit: r.byte(), victim: r.byte()}
			bits := r.byte()
			c.ifCulprit, c.ifVic = bits&1 != 0, bits&2 != 0
			s.charges[i] = c
		}
	}
}

func (c *client) decode(r *reader) {
	*c = client{node: r.word(), ends: never}
	first := r.byte()
	c.phase, c.round, c.skew = phase(first&15), first>>4, int8(r.byte())
	c.flags = uint16(r.byte()) | uint16(r.byte())<<8
	has := uint16(r.byte()) | uint16(r.byte())<<8
	for i := range mostSlots {
		c.due[i] = never
		if has&(1<<i) != 0 {
			c.replies[i] = r.word()
		}
		if has&(8<<i) != 0 {
			c.due[i] = r.ms()
		}
	}
	for i := range mostTravel {
		if has&(64<<i) != 0 {
			c.travel[i] = r.word()
		}
	}
	if has&256 != 0 {
		c.ends = r.ms()
	}
	if has&512 != 0 {
		c.claims, c.since, c.from, c.after = r.ms(), r.ms(), r.ms(), r.byte()
	}
	if has&1024 != 0 {
		c.read, c.before, c.fence = r.byte(), r.byte(), r.byte()
	}
}

// freshClient has not done anything.
func freshClient(i int) client {
	c := client{node: uint32(i), ends: never}
	for i := range c.due {
		c.due[i] = never
	}
	return c
}
