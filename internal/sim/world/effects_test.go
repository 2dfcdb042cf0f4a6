package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/past"
)

// A step that is remembered has the result that it has when it is made anew: it depends on nothing else of a state than it is remembered by.
func TestRememberedStepsAreThoseMadeAnew(t *testing.T) {
	t.Parallel()
	most := needs.Count(t, "states of each lock", 1_000, 10_000)
	for lock, kinds := range map[string][]faults.Kind{
		"setpx-del":        {faults.LateRequest, faults.Pause},
		"setpx-lua":        {faults.LateRequest, faults.FailOver},
		"watchdog":         {faults.LongHold, faults.ReplyLost},
		"redisson":         {faults.Restart, faults.Duplicate},
		"redlock":          {faults.LateRequest, faults.Restart},
		"zookeeper":        {faults.Pause, faults.ReplyLost, faults.LateRequest},
		"zookeeper-herd":   {faults.Partition, faults.LateRequest},
		"fenced":           {faults.StepAhead, faults.Pause},
		"redisson-redlock": {faults.ReplyLost, faults.Crash},
	} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			spec, ok := impls.Find(lock)
			require.True(t, ok)
			config := Config{
				Lock: spec, Clients: 3, Rounds: 1, Tries: 2, Servers: 1, Most: 2, Budget: map[faults.Kind]int{},
				Lease: time.Second, Skew: time.Second, Grid: time.Second / 4, Horizon: 2 * time.Second,
			}
			if spec.Servers > 1 {
				config.Clients, config.Servers = 2, 3
			}
			for _, kind := range kinds {
				config.Budget[kind] = 1
			}
			s := newSpace(config, past.Known{Clocks: past.Differences, Limits: true, Lives: true, Stays: true})
			defer s.Close()
			first, err := s.Begin()
			require.NoError(t, err)
			known, list := map[State]bool{first: true}, []State{first}
			for n := 0; n < len(list) && len(list) < most; n++ {
				for _, o := range s.Choices(nil, &list[n]) {
					next, suspects, err := s.Make(&list[n], o)
					require.NoError(t, err)
					anew, suspected, err := s.makeWhole(&list[n], o)
					require.NoError(t, err)
					require.Equal(t, anew, next, s.Name(&list[n], o))
					require.Equal(t, suspected, suspects, s.Name(&list[n], o))
					if !known[next] {
						known[next], list = true, append(list, next)
					}
				}
			}
		})
	}
}
