package explore

// MostLag is how many writes can be on their way to a replica at most.
const MostLag = 3

// replica is the state, plus 1, in which a server's replica would take over if it lacked the last write, the last two and so on;
// 0: the server has not made so many.
type replica [MostLag]uint32

// replicas numbers those of all servers. Number 0 is that of a replica that lacks nothing.
type replicas struct {
	servers *servers
	lag     int
	known   []replica
	numbers map[replica]uint32
	ticked  memo[uint32]
	renamed memo[uint32]
}

func newReplicas(servers *servers, lag int) replicas {
	r := replicas{servers: servers, lag: lag, numbers: map[replica]uint32{}}
	r.number(replica{})
	return r
}

func (r *replicas) number(v replica) uint32 {
	n, known := r.numbers[v]
	if !known {
		n = uint32(len(r.known))
		r.known = append(r.known, v)
		r.numbers[v] = n
	}
	return n
}

// wrote is what becomes of a replica when its server has come from one state to another by a command. What a connection watches is not
// replicated, so to watch is no write.
func (r *replicas) wrote(n, before, after uint32) uint32 {
	lacks := r.servers.promote(before)
	if lacks == r.servers.promote(after) {
		return n
	}
	v := r.known[n]
	copy(v[1:r.lag], v[:])
	v[0] = lacks + 1
	return r.number(v)
}

// tick lets time pass on a replica.
func (r *replicas) tick(n uint32, d ms) uint32 {
	return r.each(&r.ticked, uint64(d), n, func(state uint32) uint32 { return r.servers.tick(state, d) })
}

// rename is the replica that there would be if the clients had changed places from the start.
func (r *replicas) rename(o int, n uint32) uint32 {
	return r.each(&r.renamed, uint64(o), n, func(state uint32) uint32 { return r.servers.rename(o, state) })
}

// each is the replica whose states other has replaced; done remembers it, by why.
func (r *replicas) each(done *memo[uint32], why uint64, n uint32, other func(uint32) uint32) uint32 {
	if n == 0 {
		return 0
	}
	key := [2]uint64{uint64(n), why}
	if next := done.of(key); next != nil {
		return *next
	}
	v := r.known[n]
	for i := range v {
		if v[i] != 0 {
			v[i] = other(v[i]-1) + 1
		}
	}
	return *done.note(key, r.number(v))
}

// tokens are those that a replica has.
func (r *replicas) tokens(n uint32) (all tokens) {
	for _, state := range r.known[n] {
		if state != 0 {
			all |= r.servers.states[state-1].tokens
		}
	}
	return all
}
