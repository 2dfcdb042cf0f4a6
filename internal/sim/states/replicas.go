package states

import "github.com/locklab/locklab/internal/sim/learn"

// MostLag is how many writes can be on their way to a replica at most.
const MostLag = 3

// replica is the state, plus 1, in which a server's replica would take over if it lacked the last write, the last two and so on;
// 0: the server has not made so many.
type replica [MostLag]uint32

// Replicas numbers those of all servers. Number 0 is that of a replica that lacks nothing.
type Replicas struct {
	servers *Servers
	lag     int
	Known   []replica
	numbers map[replica]uint32
	ticked  learn.Memo[uint32]
	renamed learn.Memo[uint32]
}

func NewReplicas(servers *Servers, lag int) Replicas {
	r := Replicas{servers: servers, lag: lag, numbers: map[replica]uint32{}}
	r.number(replica{})
	return r
}

func (r *Replicas) number(v replica) uint32 {
	n, known := r.numbers[v]
	if !known {
		n = uint32(len(r.Known))
		r.Known = append(r.Known, v)
		r.numbers[v] = n
	}
	return n
}

// Wrote is what becomes of a replica when its server has come from one state to another by a command. What a connection watches is not
// replicated, so to watch is no write.
func (r *Replicas) Wrote(n, before, after uint32) uint32 {
	lacks := r.servers.Promote(before)
	if lacks == r.servers.Promote(after) {
		return n
	}
	v := r.Known[n]
	copy(v[1:r.lag], v[:])
	v[0] = lacks + 1
	return r.number(v)
}

// Tick lets time pass on a replica.
func (r *Replicas) Tick(n uint32, d learn.MS) uint32 {
	return r.each(&r.ticked, uint64(d), n, func(state uint32) uint32 { return r.servers.Tick(state, d) })
}

// Rename is the replica that there would be if the clients had changed places from the start.
func (r *Replicas) Rename(o int, n uint32) uint32 {
	return r.each(&r.renamed, uint64(o), n, func(state uint32) uint32 { return r.servers.Rename(o, state) })
}

// each is the replica whose states other has replaced; done remembers it, by why.
func (r *Replicas) each(done *learn.Memo[uint32], why uint64, n uint32, other func(uint32) uint32) uint32 {
	if n == 0 {
		return 0
	}
	key := [2]uint64{uint64(n), why}
	if next := done.Of(key); next != nil {
		return *next
	}
	v := r.Known[n]
	for i := range v {
		if v[i] != 0 {
			v[i] = other(v[i]-1) + 1
		}
	}
	return *done.Note(key, r.number(v))
}

// Tokens are those that a replica has.
func (r *Replicas) Tokens(n uint32) (all learn.Tokens) {
	for _, state := range r.Known[n] {
		if state != 0 {
			all |= r.servers.States[state-1].Tokens
		}
	}
	return all
}
