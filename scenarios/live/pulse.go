package live

import (
	"context"
	"sync"
	"time"
)

// pulse measures host stalls: a goroutine wakes up every few milliseconds and records when it was late.
type pulse struct {
	since func() time.Duration
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu     sync.Mutex
	stalls []stall
}

// stall is an interval in which the host did not run the lab.
type stall struct{ from, to time.Duration }

const (
	pulsePeriod = 5 * time.Millisecond
	// shortStall is below a quarter of every scenario's lease.
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
	for _, s := range p.stallsSince(from, 0) {
		longest = max(longest, s.to-s.from)
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
