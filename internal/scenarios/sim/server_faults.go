package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/redis"
)

// condition is what faults have done to a server.
type condition struct {
	saved  *redis.Server // a copy of it; nil: there is none
	ahead  time.Duration // how far its clock has jumped
	starts int           // how often it has been started anew
	old    *server       // another primary, which this one has replaced; nil: there is none
	each   time.Duration // how long it takes for a request
	queue  []func()      // requests that wait for that, one after the other
	paced  int           // how often each has changed
}

// serverEffect is what a fault does to a server. Evidence is what the catalogue does not say of that.
type serverEffect struct {
	begin func(*server, play.ServerFault) (evidence string, err error)
	end   func(*server)
}

// serverEffects are the faults that a server can have.
func serverEffects() map[faults.Kind]serverEffect {
	return map[faults.Kind]serverEffect{
		faults.ClockJump:  {begin: jumpClock},
		faults.Operator:   {begin: limitLock},
		faults.Restart:    {begin: always(func(s *server, _ play.ServerFault) { s.restart(false) })},
		faults.FailOver:   {begin: always(func(s *server, _ play.ServerFault) { s.restartSaved() })},
		faults.TakeOver:   {begin: always(takeOver)},
		faults.SplitBrain: {begin: always(func(s *server, f play.ServerFault) { s.split(f.Without) }), end: (*server).demote},
		// Nothing reaches a server that is down before its links are whole.
		faults.SlowServer: {begin: always(func(s *server, f play.ServerFault) { s.pace(f.By) }), end: func(s *server) { s.pace(0) }},
		faults.Down:       {begin: always(func(s *server, _ play.ServerFault) { s.restart(true) }), end: func(*server) {}},
	}
}

// always is the beginning of a fault that every server can have at any time.
func always(do func(*server, play.ServerFault)) func(*server, play.ServerFault) (string, error) {
	return func(s *server, f play.ServerFault) (string, error) {
		do(s, f)
		return "", nil
	}
}

// Cause causes a fault of the server.
func (s *server) Cause(_ context.Context, f play.ServerFault) (evidence string, err error) {
	begin := serverEffects()[f.Kind].begin
	if begin == nil {
		return "", fmt.Errorf("the model's servers have no %s", f.Kind)
	}
	evidence, err = begin(s, f)
	if f.Kind.Of().Breaks && f.Kind != faults.SplitBrain { // which breaks them before clients are parted
		s.breakAll()
	}
	return evidence, err
}

// Recover ends a fault of the server.
func (s *server) Recover(_ context.Context, kind faults.Kind) error {
	end := serverEffects()[kind].end
	if end == nil {
		return fmt.Errorf("the model's servers do not recover from %s", kind)
	}
	end(s)
	return nil
}

func jumpClock(s *server, f play.ServerFault) (string, error) {
	by := f.By.Round(time.Millisecond)
	s.ahead += by
	s.model.Advance(by)
	if f.By < 0 {
		return fmt.Sprintf("all that expires does so %v later", -f.By), nil
	}
	return fmt.Sprintf("all that expires does so %v earlier", f.By), nil
}

// limitLock sets the expiry of a lock as an operator does.
func limitLock(s *server, f play.ServerFault) (string, error) {
	limited := false
	for _, key := range s.cell.run.LockKeys.Of(f.Key).Keys {
		limited = s.model.Do(labConn, "PEXPIRE", key, fmt.Sprint(f.By.Milliseconds())).Int != 0 || limited
	}
	if !limited {
		return "", play.PremiseMissed("an operator would limit the lock while there is none on the server")
	}
	return "the lock ends in " + f.By.String(), nil
}

func takeOver(s *server, f play.ServerFault) {
	if f.Held {
		s.restartSaved()
	} else {
		s.restart(true)
	}
}

// pace sets how long the server takes for each request. What has waited is carried out at once.
func (s *server) pace(each time.Duration) {
	waiting := s.queue
	s.each, s.queue, s.paced = each, nil, s.paced+1
	for _, carryOut := range waiting {
		carryOut()
	}
}

// inTurn carries out a request when those before it, and it, have taken their time.
func (s *server) inTurn(carryOut func()) {
	if s.each == 0 {
		carryOut()
		return
	}
	if s.queue = append(s.queue, carryOut); len(s.queue) == 1 {
		s.serveNext()
	}
}

func (s *server) serveNext() {
	paced := s.paced
	s.cell.timeline.after(s.each, func() {
		if s.paced != paced {
			return // nothing waits any more
		}
		carryOut := s.queue[0]
		if s.queue = s.queue[1:]; len(s.queue) > 0 {
			s.serveNext()
		}
		carryOut()
	})
}
