package live

import (
	"sync"
	"sync/atomic"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// Bounds on what clients and servers send and make the lab keep, in bytes. Locks send less than a thousandth of each. What a cell keeps up to the spare
// bytes, another cannot take from it.
const (
	maxArgument  = 16 << 20  // one string
	maxQueue     = 8 << 20   // unread replies of one connection, beyond which it is not served
	maxKept      = 64 << 20  // of the connections of a cell
	maxKeptOfAll = 256 << 20 // of all cells, beyond the spare bytes of each
	spareKept    = 4 << 20   // of the connections of a cell
	spareHistory = 1 << 20
)

// The size that a history may reach by what its clients do, in bytes of its file: it is judged in memory. That of a storm leaves room for what is
// recorded until the storm has ended, since a longer file would not be read back.
const (
	maxHistory      = 32 << 20
	maxStormHistory = history.MaxFile - 64<<20
)

// stallCost is what a notice of lateness makes the lab keep, in bytes.
const stallCost = 64

// memoryPerByte is how many bytes of memory the events of a history take for each of its file.
const memoryPerByte = 2

// memory bounds what the clients of a cell make the lab keep.
type memory struct {
	held *resp.Budget // what the taps keep for connections
	full atomic.Bool  // the history has no room for more

	mu     sync.Mutex
	events *resp.Budget // of the history
	kept   int          // charged to it
}

func (w *World) newMemory() *memory {
	return &memory{
		held:   w.memory.Part("bytes that the lab keeps for the clients of a cell", maxKept, spareKept),
		events: w.memory.Part("bytes of events", memoryPerByte*maxHistory, spareHistory),
	}
}

// free gives back what the cell has taken from all.
func (m *memory) free() {
	m.held.Close()
	m.events.Close()
}

// room says whether a history that has reached a size may grow. One that is not kept in memory is bounded by the size alone.
func (m *memory) room(size, most int64, inMemory bool) bool {
	if size >= most || !inMemory {
		return size < most
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := memoryPerByte * int(size)
	if m.events.Resize(m.kept, now) != nil {
		return false
	}
	m.kept = now
	return true
}

// mostHistory is the size that the cell's history may reach by what its clients do, in bytes.
func (c *cell) mostHistory() int64 {
	switch {
	case c.world.cfg.MaxHistory > 0:
		return c.world.cfg.MaxHistory
	case c.storm != nil:
		return maxStormHistory
	}
	return maxHistory
}

// admit counts a command or a notice of a client, and ends the cell if its history has become too large to take it.
func (c *cell) admit(of *peer) bool {
	of.recorded.Add(1)
	if !c.memory.room(c.run.Record.Size(), c.mostHistory(), c.storm == nil) {
		c.fill()
		return false
	}
	return true
}

// fill ends the cell: the lab can keep no more of what its clients do.
func (c *cell) fill() {
	if !c.memory.full.Swap(true) {
		c.spoil(c.overflow())
	}
}

// overflow is how a cell with a full history ends.
func (c *cell) overflow() error {
	busiest := c.peers[c.run.Clients[0].Name]
	for _, p := range c.peers {
		if p.recorded.Load() > busiest.recorded.Load() {
			busiest = p
		}
	}
	return play.Undecided("the history is full (%d MiB): client %s sent %d commands and notices", c.run.Record.Size()>>20, busiest.client.Name,
		busiest.recorded.Load())
}
