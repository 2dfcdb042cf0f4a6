package explore

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/timeline/ownership"
)

// In an end state no client will do anything any more. Then the data must be right, and the lock must be obtainable: a fresh client must
// get it within a lease.

// judgeEnd judges an end state.
func (x *explorer) judgeEnd(s *state, number uint32, faults, steps int) error {
	var found anomalies
	if x.only&lostUpdate != 0 && x.lostAtEnd(s) {
		found |= lostUpdate
	}
	if x.only&stuckLock != 0 {
		stuck, err := x.stuck(*s)
		if err != nil {
			return err
		}
		if stuck {
			found |= stuckLock
		}
	}
	if found != 0 {
		x.note(faults, finding{found: found, steps: steps, parent: number, end: true})
	}
	return nil
}

// lostAtEnd says whether the counter is lower than what has been acknowledged.
func (x *explorer) lostAtEnd(s *state) bool {
	value := x.counter(s)
	return value < int64(bits.OnesCount32(s.acked)) || s.highest > 0 && value <= int64(s.highest)-1
}

func (x *explorer) counter(s *state) int64 {
	value, _ := strconv.ParseInt(x.resource.states[s.resource].lock.Value, 10, 64)
	return value
}

// stuck says whether a fresh client, and every client that still wants the lock, is refused for longer than any lease lasts. It follows one
// interleaving only: what can happen at a time happens, in a fixed order.
func (x *explorer) stuck(s state) (bool, error) {
	x.clients++
	x.judge.clients++
	wasTimed := x.timed
	x.timed = true // to know how much has passed
	defer func() {
		x.clients--
		x.judge.clients--
		x.timed = wasTimed
	}()
	fresh := x.clients - 1
	began := s.now
	s.clients[fresh] = freshClient(fresh)
	met := uint8(0) // on which servers it has found the lock since time has passed
	var moves []move
	for {
		x.judge.s = &s
		for i := range x.clients {
			if i != fresh && s.clients[i].phase == holding || s.clients[fresh].phase == holding {
				return false, nil
			}
		}
		moves = moves[:0]
		for i := range x.clients {
			moves = x.clientMoves(moves, &s, i)
		}
		if len(moves) == 0 {
			timer, expiry := x.deadlines(&s)
			passed := s.now - began
			if passed > x.patience() {
				return x.keepsMajority(met) && x.refusedToTheEnd(&s, fresh), nil
			}
			d := timer
			if timer > expiry || timer == never {
				d = min(expiry, x.patience()-passed) + 1
			}
			moves = append(moves, move{kind: movePass, d: d})
			met = 0
		}
		if m := moves[0]; m.kind == moveServe && int(m.client) == fresh {
			met |= x.meets(&s, m)
		}
		if err := x.apply(&s, moves[0]); err != nil {
			return false, err
		}
	}
}

// patience is how long a fresh client tries: until every lease ends that was taken before, or by a client that asked meanwhile.
func (x *explorer) patience() ms { return 2*x.lease + x.judge.margin }

// meets is the server on which a client's request will find the lock, and leave it there; with a lock that keeps order, also a client
// ahead of it.
func (x *explorer) meets(s *state, m move) uint8 {
	request := x.automaton.nodes[s.clients[m.client].node].slots[m.slot].request
	server := x.texts.requests[request].server
	if server < 0 {
		return 0
	}
	there := x.servers.states[s.servers[server]].lock.Exists() || slices.Contains(x.config.Lock.Promises, impls.Fairness)
	if !there || x.servers.serve(s.servers[server], request, int(m.client)).effect != history.EffectNone {
		return 0
	}
	return 1 << server
}

// keepsMajority says whether locks on so many servers keep others from a majority. A lock that refuses what is free, or asks no server, is
// of no use, but it is not stuck.
func (x *explorer) keepsMajority(servers uint8) bool {
	return bits.OnesCount8(servers) >= x.serverCount-x.serverCount/2
}

func (x *explorer) refusedToTheEnd(s *state, fresh int) bool {
	return s.clients[fresh].phase == waiting && s.clients[fresh].has(futile) && !x.maybeHeld(s)
}

// maybeHeld: a client may hold the lock without knowing whether it does.
func (x *explorer) maybeHeld(s *state) bool {
	for i := range x.clients {
		if s.clients[i].has(on) && s.clients[i].ends > 0 {
			return true
		}
	}
	o := &s.owner
	return x.config.Lock.Leaseless && o.client != 0 && s.clients[o.client-1].phase != crashed &&
		(o.standing == ownership.Pending || o.standing == ownership.Dubious)
}
