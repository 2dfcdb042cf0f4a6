package live

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/faults/server"
)

// pulse measures host stalls: a goroutine wakes up every few milliseconds and records when it was late.
type pulse struct {
	life context.Context // until close
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

// stall is an interval in which the host did not run the lab, or one of its clients, or a server gave no answer.
type stall struct{ from, to time.Time }

func (s stall) length() time.Duration { return s.to.Sub(s.from) }

const (
	pulsePeriod = 5 * time.Millisecond
	// shortStall is below a quarter of every scenario's lease.
	shortStall = 25 * time.Millisecond
)

func startPulse() *pulse {
	ctx, stop := context.WithCancel(context.Background())
	p := &pulse{life: ctx, stop: stop}
	p.done.Go(p.run)
	return p
}

func (p *pulse) run() {
	ticker := time.NewTicker(pulsePeriod)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-p.life.Done():
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

// How often a server is asked for an answer, how long the lab waits for it before it asks again, and how late an answer is that counts.
const (
	askPeriod  = 500 * time.Millisecond
	askBound   = time.Second
	lateAnswer = 250 * time.Millisecond
)

// attend asks a process of a server again and again until the context ends, and records as a stall that it gives no answer. One that refuses, as
// the lab may have stopped it, does not stall.
func (l *stalls) attend(ctx context.Context, ask server.Question) {
	asked := time.Now()
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, askBound)
		err := ask(bounded)
		cancel()
		now, silent := time.Now(), errors.Is(err, context.DeadlineExceeded) || errors.Is(err, net.ErrClosed)
		if (err == nil || silent) && now.Sub(asked) > lateAnswer {
			l.extend(stall{asked, now})
		}
		if silent {
			continue
		}
		select {
		case <-time.After(askPeriod):
		case <-ctx.Done():
		}
		asked = time.Now()
	}
}

// extend adds a stall, in place of one that began at the same time.
func (l *stalls) extend(s stall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(slices.DeleteFunc(l.all, func(old stall) bool { return old.from.Equal(s.from) }), s)
}

// attend records among the host's stalls those of a server that all cells share.
func (p *pulse) attend(s server.Server) {
	if answerer, ok := s.(server.Answerer); ok {
		for _, ask := range answerer.Questions() {
			p.done.Go(func() { p.stalls.attend(p.life, ask) })
		}
	}
}

func (p *pulse) close() {
	p.stop()
	p.done.Wait()
}
