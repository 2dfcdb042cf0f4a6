package network

import (
	"math/rand/v2"
	"sync"
)

// Proxies listen below the ephemeral ports (from 32768 on Linux, from 49152 on macOS), so that a disabled proxy finds its port free when it
// is enabled again.
const (
	portFirst = 20000
	portCount = 12000
)

// ports hands out ports in ascending order from a random first, so that none is reused soon. A port may be taken by another process.
type ports struct {
	mu   sync.Mutex
	next int
}

// elsewhere continues at another random port: if one is taken, another run on this machine has its neighbours, too.
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
