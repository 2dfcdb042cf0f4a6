package live

import (
	"context"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/live/stalls"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// stage is a cell's clock, breakpoints and servers.
type stage struct {
	world       *World
	base        time.Time // time zero of the cell
	servers     []*lockServer
	breakpoints tap.Breakpoints // of all lock servers
	resource    *tap.Tap
	changed     chan struct{} // receives after an event that the script may wait for
	late        stalls.Log    // of the clients, by their own account
}

func newStage(w *World) *stage {
	return &stage{world: w, base: time.Now(), changed: make(chan struct{}, 1)}
}

func (s *stage) Now() time.Duration { return time.Since(s.base) }

// notify wakes the script, if it waits.
func (s *stage) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Until waits for events, never for a guessed time: every change that done may depend on calls notify.
func (s *stage) Until(ctx context.Context, d time.Duration, done func() bool) (bool, error) {
	var expired <-chan time.Time
	if d != play.Ever {
		timer := time.NewTimer(d)
		defer timer.Stop()
		expired = timer.C
	}
	for !done() {
		select {
		case <-s.changed:
		case <-expired:
			return done(), nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}

func (s *stage) LongestStall(from time.Duration) time.Duration {
	began := s.base.Add(from)
	return max(s.world.pulse.Longest(began), s.late.Longest(began))
}

func (s *stage) Delayed() time.Duration { return s.world.pulse.Sum() + s.late.Sum() }

func (s *stage) Servers() []play.Server {
	servers := make([]play.Server, len(s.servers))
	for i, one := range s.servers {
		servers[i] = one
	}
	return servers
}

func (s *stage) Arm(at faults.Breakpoint, client string, op int64, work bool) play.Armed {
	point := tap.Breakpoint{Breakpoint: at, Client: client, ID: op, Notify: s.notify}
	if work {
		return armed{s.resource.Arm(point)}
	}
	return armed{s.breakpoints.Arm(point)}
}

// armed is a breakpoint at the taps.
type armed struct{ *tap.Armed }

func (a armed) Reached() bool   { return closed(a.Armed.Reached()) }
func (a armed) Delivered() bool { return closed(a.Armed.Delivered()) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
