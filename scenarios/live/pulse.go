package live

import (
	"context"
	"sync"
	"time"
)

// pulse measures host stalls: a goroutine wakes up every few milliseconds and records when it was late.
type pulse struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	stalls []stall
}

// stall is an interval in which the host did not run the lab.
type stall struct{ from, to time.Time }

func (s stall) length() time.Duration { return s.to.Sub(s.from) }

const (
	pulsePeriod = 5 * time.Millisecond
	// shortStall is below a quarter of every scenario's lease.
	shortStall = 25 * time.Millisecond
)

func startPulse() *pulse {
	ctx, stop := context.WithCancel(context.Background())
	p := &pulse{stop: stop}
	p.done.Go(func() { p.run(ctx) })
	return p
}

func (p *pulse) run(ctx context.Context) {
	ticker := time.NewTicker(pulsePeriod)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		if now.Sub(last) > shortStall {
			p.mu.Lock()
			p.stalls = append(p.stalls, stall{last, now})
			p.mu.Unlock()
		}
		last = now
	}
}

// longest is the longest stall that began after from.
func (p *pulse) longest(from time.Time) (longest time.Duration) {
	for _, s := range p.stallsSince(from, 0) {
		longest = max(longest, s.length())
	}
	return longest
}

// stallsSince are the stalls that began after from and were longer than least.
func (p *pulse) stallsSince(from time.Time, least time.Duration) (found []stall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.stalls {
		if !s.from.Before(from) && s.length() > least {
			found = append(found, s)
		}
	}
	return found
}

func (p *pulse) close() {
	p.stop()
	p.done.Wait()
}
