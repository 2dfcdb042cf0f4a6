package measure

import (
	"context"
	"sync"
	"time"
)

// step is a part of a measurement whose figures are known when it has ended.
type step struct {
	what string
	time time.Duration // that it is expected to take
	run  func(ctx context.Context) error
}

// tellEvery is how often progress is told during a step.
const tellEvery = 200 * time.Millisecond

// carryOut runs steps one after another until one fails or ctx ends; the error is then the context's cause.
func (p *Place) carryOut(ctx context.Context, steps []step) error {
	watch := &stopwatch{steps: steps, began: time.Now(), tell: p.cfg.Tell}
	stop := watch.start()
	defer stop()
	for i, s := range steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		watch.next(i)
		if err := s.run(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	return nil
}

// stopwatch tells how far the steps have come.
type stopwatch struct {
	steps []step
	began time.Time
	tell  func(Progress)

	mu   sync.Mutex
	at   int
	step time.Time // when that step began
}

func (s *stopwatch) next(at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.step = at, time.Now()
}

// start tells now and then until stop is called.
func (s *stopwatch) start() (stop func()) {
	if s.tell == nil {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tellEvery)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case now := <-ticker.C:
				s.tell(s.progress(now))
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// progress estimates the rest by how the steps before kept to what was expected of them.
func (s *stopwatch) progress(now time.Time) Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	var before, after time.Duration
	for i, step := range s.steps {
		switch {
		case i < s.at:
			before += step.time
		case i > s.at:
			after += step.time
		}
	}
	pace := 1.0
	if before > 0 {
		pace = float64(s.step.Sub(s.began)) / float64(before)
	}
	rest := scale(s.steps[s.at].time, pace) - now.Sub(s.step)
	return Progress{
		Step: s.at + 1, Steps: len(s.steps), What: s.steps[s.at].what,
		Took: now.Sub(s.began), Left: max(0, rest) + scale(after, pace),
	}
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
