package network

import (
	"math/rand/v2"
	"sync"
)

// Proxies listen on ports below those that systems give to outgoing connections and to listeners that do not care (from 32768
// on Linux, from 49152 on macOS): a proxy that is disabled must find its port free when it is enabled again.
const (
	portFirst = 20000
	portCount = 12000
)

// ports deals out ports in turn, from a random first, so that none comes round again soon. Whether a port is free is seen when
// somebody listens on it.
type ports struct {
	mu   sync.Mutex
	next int
}

// elsewhere goes on from another random port: where one is taken, its neighbours are too, by another run on this machine.
func (p *ports) elsewhere() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = portFirst + rand.IntN(portCount)
}

func (p *ports) take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == 0 {
		p.next = portFirst + rand.IntN(portCount)
	}
	port := p.next
	if p.next++; p.next == portFirst+portCount {
		p.next = portFirst
	}
	return port
}
