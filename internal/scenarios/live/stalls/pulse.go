// Package stalls measures for how long the host did not run the lab, or a server gave no answer: that is never blamed on a lock.
//
// It owns these intervals. It must not know what they excuse.
package stalls

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/faults/server"
)

// Pulse measures host stalls: a goroutine wakes up every few milliseconds and records when it was late.
type Pulse struct {
	life context.Context // until close
	stop context.CancelFunc
	done sync.WaitGroup
	Log
}

// Log are host stalls in the order in which they ended. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	all   []Stall
	total time.Duration // of all delays, also of those too short to be a stall
}

// Stall is an interval in which the host did not run the lab, or one of its clients, or a server gave no answer.
type Stall struct{ From, To time.Time }

func (s Stall) Length() time.Duration { return s.To.Sub(s.From) }

const (
	pulsePeriod = 5 * time.Millisecond
	// Short is below a quarter of every scenario's lease.
	Short = 25 * time.Millisecond
)

func Start() *Pulse {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pulse{life: ctx, stop: stop}
	p.done.Go(p.run)
	return p
}

func (p *Pulse) run() {
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
		p.Delayed(max(0, now.Sub(last)-pulsePeriod))
		if now.Sub(last) > Short {
			p.Add(Stall{From: last, To: now})
		}
		last = now
	}
}

func (l *Log) Add(s Stall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *Log) Delayed(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += by
}

// Sum is how long all delays were together.
func (l *Log) Sum() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Longest is the longest stall that began after from.
func (l *Log) Longest(from time.Time) (longest time.Duration) {
	for _, s := range l.Since(from, 0) {
		longest = max(longest, s.Length())
	}
	return longest
}

// Since are the stalls that began after from and were longer than least.
func (l *Log) Since(from time.Time, least time.Duration) (found []Stall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if !s.From.Before(from) && s.Length() > least {
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

// Attend asks a process of a server again and again until the context ends, and records as a stall that it gives no answer. One that refuses, as
// the lab may have stopped it, does not stall.
func (l *Log) Attend(ctx context.Context, ask server.Question) {
	asked := time.Now()
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, askBound)
		err := ask(bounded)
		cancel()
		now, silent := time.Now(), errors.Is(err, context.DeadlineExceeded) || errors.Is(err, net.ErrClosed)
		if (err == nil || silent) && now.Sub(asked) > lateAnswer {
			l.extend(Stall{From: asked, To: now})
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
func (l *Log) extend(s Stall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(slices.DeleteFunc(l.all, func(old Stall) bool { return old.From.Equal(s.From) }), s)
}

// Attend records among the host's stalls those of a server that all cells share.
func (p *Pulse) Attend(s server.Server) {
	if answerer, ok := s.(server.Answerer); ok {
		for _, ask := range answerer.Questions() {
			p.done.Go(func() { p.Log.Attend(p.life, ask) })
		}
	}
}

func (p *Pulse) Close() {
	p.stop()
	p.done.Wait()
}
