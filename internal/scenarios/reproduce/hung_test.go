package reproduce_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
)

// waits calls an acquire with a bound, which C1's hold refuses.
func (t *tale) waits(client string, bound time.Duration) (called int) {
	t.call(client, history.OpAcquire)
	called = len(t.events) - 1
	t.events[called].Detail = &history.Detail{Bound: bound}
	return called
}

func (t *tale) clock(process, what string) {
	t.add(history.Event{Kind: history.KindFault, Client: process, Detail: &history.Detail{
		Fault: &history.Fault{Name: "skew", Target: process, Phase: history.PhaseInject, What: what},
	}})
}

func (t *tale) gaveUp(client string) int {
	return t.returns(client, history.Unknown, &history.Detail{GaveUp: true})
}

func hung(client string, events ...int) checker.Anomaly {
	return checker.Anomaly{Name: checker.HungOperation, Clients: []string{client}, Events: events}
}

// TestAcquiresThatWaitForSiblings are forced by acquires of the same process that keep what they share: of each client the last, and only
// those that were refused before.
func TestAcquiresThatWaitForSiblings(t *testing.T) {
	s := newTale("C1", "C2", "C2/2", "C2/3", "C3")
	s.takes("C1")
	s.waits("C2", lease)
	s.sends("C2", "SET", "C1")
	s.waits("C2/2", lease)
	s.sends("C2/2", "SET", "C1")
	s.waits("C3", lease) // of another process
	s.sends("C3", "SET", "C1")
	called := s.waits("C2/3", 500*ms)
	s.returns("C2/2", history.No, nil)
	s.waits("C2/2", lease)
	s.sends("C2/2", "SET", "C1")
	s.expires()
	s.gaveUp("C2")
	s.waits("C2", lease) // it is refused later
	s.sends("C2/3", "SET", "C1")
	s.sends("C2", "SET", "C1")
	s.gaveUp("C2/2")
	last := s.gaveUp("C2/3")
	s.add(history.Event{Kind: history.KindExit, Client: "C2"})
	require.Equal(t, strings.TrimPrefix(`
C1    acquire
C2    acquire within 10 leases in background
C2    waits
C2/2  acquire within 10 leases in background
C2/2  waits
C2/3  acquire within 0.2 leases in background
      wait for 0.5 leases
C2    give up
C2/2  give up
C2/3  waits
      wait for 0.15 leases
C2/3  give up
`, "\n"), forced(t, s, "setpx-lua-published", hung("C2/3", called, last)))
}

// TestAcquiresWhoseClockIsSetBack are forced by that: what counts is by how much it is in all.
func TestAcquiresWhoseClockIsSetBack(t *testing.T) {
	s := newTale("C1", "C2")
	s.clock("C2", "offset 1s, rate 1")
	s.takes("C1")
	called := s.waits("C2", 500*ms)
	s.sends("C2", "SET", "C1")
	s.clock("C2", "offset 3s, rate 1")
	s.clock("C1", "offset -9s, rate 1")
	s.clock("C2", "offset -1.5s, rate 1")
	last := s.gaveUp("C2")
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C2  acquire within 0.2 leases in background
C2  waits
C2  clock behind 2.5 leases
    wait for 0.65 leases
C2  give up
`, "\n"), forced(t, s, "setpx-lua-published", hung("C2", called, last)))
}

// TestAcquiresThatHangForAnotherReason are read as any operation is.
func TestAcquiresThatHangForAnotherReason(t *testing.T) {
	s := newTale("C1", "C2", "C2/2")
	s.takes("C1")
	s.clock("C2", "offset -2s, rate 1") // before
	s.waits("C2/2", lease)
	s.sends("C2/2", "SET", "C1")
	called := s.waits("C2", 500*ms)
	s.sends("C2", "SET", "C1") // at once
	last := s.gaveUp("C2")
	script := forcedBy(t, s, "setpx-lua-published", hung("C2", called, last), reproduce.Reading{})
	require.NotContains(t, script, "wait for")
}
