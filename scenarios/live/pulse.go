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
	stalls
}

// stalls are host stalls in the order in which they ended. It is safe for concurrent use.
type stalls struct {
	mu    sync.Mutex
	all   []stall
	total time.Duration // of all delays, also of those too short to be a stall
}

// stall is an interval in which the host did not run the lab, or one of its clients.
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
		p.delayed(max(0, now.Sub(last)-pulsePeriod))
		if now.Sub(last) > shortStall {
			p.add(stall{last, now})
		}
		last = now
	}
}

func (l *stalls) add(s stall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *stalls) delayed(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += by
}

// sum is how long all delays were together.
func (l *stalls) sum() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// longest is the longest stall that began after from.
func (l *stalls) longest(from time.Time) (longest time.Duration) {
	for _, s := range l.since(from, 0) {
		longest = max(longest, s.length())
	}
	return longest
}

// since are the stalls that began after from and were longer than least.
func (l *stalls) since(from time.Time, least time.Duration) (found []stall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
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
