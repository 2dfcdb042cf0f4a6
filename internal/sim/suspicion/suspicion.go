// Package suspicion owns sets of suspicions, and three things that a state of a search remembers to suspect some: harms that depend on
// how acquires end (Charges), the queue (Queue), and how often the lock is held (Tally). All are values that can be compared, and renumbered when
// clients are. It must not know what a world is: internal/sim/world says what happens, and suspects the rest.
//
// A suspicion is the name of an anomaly that a step may have shown. A search suspects more than there is, and never less: it has the checker judge the
// whole history then.
package suspicion

import "github.com/locklab/locklab/checker"

// MostClients is how many there is room for.
const MostClients = 5

// Set is a set of suspicions, in the order of the checker's definitions.
type Set uint32

// Add adds one.
func (s *Set) Add(name checker.Name) {
	for i, d := range checker.Definitions() {
		if d.Name == name {
			*s |= 1 << i
		}
	}
}

// Names lists them.
func (s Set) Names() []checker.Name {
	var names []checker.Name
	for i, d := range checker.Definitions() {
		if s&(1<<i) != 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// harms are the anomalies that there are only if acquires end well which are under way.
var harms = [...]checker.Name{
	Overwrite: checker.Overwrite, WrongfulDelete: checker.WrongfulDelete, WrongfulRenew: checker.WrongfulRenew, EarlyGrant: checker.EarlyGrant,
}

// Harm is one of them.
type Harm int

// The harms.
const (
	Overwrite Harm = iota
	WrongfulDelete
	WrongfulRenew
	EarlyGrant
)

// Charges are, for each harm, the sets of clients that it waits for: as a set of such sets, in bits.
type Charges [len(harms)]uint32

// Charge: there is a harm if the acquires of these clients, in bits, end well.
func (c *Charges) Charge(harm Harm, clients uint32, suspects *Set) {
	if clients == 0 {
		suspects.Add(harms[harm])
		return
	}
	c[harm] |= 1 << clients
}

// Settle notes how the acquire of a client has ended of which charges are.
func (c *Charges) Settle(i int, ok bool, suspects *Set) {
	for harm := range c {
		for set := range uint32(1) << MostClients {
			if set>>i&1 == 0 || c[harm]>>set&1 == 0 {
				continue
			}
			if c[harm] &^= 1 << set; ok {
				c.Charge(Harm(harm), set&^(1<<i), suspects)
			}
		}
	}
}

// Under is what they are if the client with number i goes by number to[i].
func (c *Charges) Under(to []int) (called Charges) {
	for harm, sets := range c {
		for set := range uint32(1) << MostClients {
			if sets>>set&1 != 0 {
				called[harm] |= 1 << Renumber(set, to)
			}
		}
	}
	return called
}

// Renumber is a set of clients, in bits, if the one with number i goes by number to[i].
func Renumber(of uint32, to []int) (set uint32) {
	for i, k := range to {
		set |= of >> i & 1 << k
	}
	return set
}
