package live

import (
	"context"
	"sync"
	"time"
)

// pulse notices when the machine, and the lab with it, stood still: a goroutine that wakes up every few milliseconds and writes
// down when it was late.
type pulse struct {
	since func() time.Duration
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu     sync.Mutex
	stalls []stall
}

// stall is a time during which the lab did not get to run.
type stall struct{ from, to time.Duration }

const (
	pulsePeriod = 5 * time.Millisecond
	// shortStall is not worth a note: no scenario has a lease so short that a quarter of it would be less.
	shortStall = 25 * time.Millisecond
)

func startPulse(since func() time.Duration) *pulse {
	ctx, stop := context.WithCancel(context.Background())
	p := &pulse{since: since, stop: stop}
	p.done.Go(func() { p.run(ctx) })
	return p
}

func (p *pulse) run(ctx context.Context) {
	ticker := time.NewTicker(pulsePeriod)
	defer ticker.Stop()
	last := p.since()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := p.since()
		if now-last > shortStall {
			p.mu.Lock()
			p.stalls = append(p.stalls, stall{last, now})
			p.mu.Unlock()
		}
		last = now
	}
}

// longest is the longest stall that began after from.
func (p *pulse) longest(from time.Duration) (longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.stalls {
		if s.from >= from {
			longest = max(longest, s.to-s.from)
		}
	}
	return longest
}

// stallsSince are the stalls that began after from and were longer than least.
func (p *pulse) stallsSince(from, least time.Duration) (found []stall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.stalls {
		if s.from >= from && s.to-s.from > least {
			found = append(found, s)
		}
	}
	return found
}

func (p *pulse) close() {
	p.stop()
	p.done.Wait()
}
