package bench

import (
	"fmt"
	"time"
)

// Updates has the figures of clients that append to a shared set under a lock while one of them is paused now and then.
type Updates struct {
	Clients int           `json:"clients"`
	Lease   time.Duration `json:"lease_ns"`
	For     time.Duration `json:"for_ns"`
	Every   time.Duration `json:"every_ns"` // a client is paused
	Pause   time.Duration `json:"pause_ns"`
	Think   time.Duration `json:"think_ns"` // between reading the set and writing it
	Rest    time.Duration `json:"rest_ns"`  // between two updates of a client, on the average
	Wait    string        `json:"wait"`     // between two tries
	Seeds   []int64       `json:"seeds"`    // of the pauses
	Rows    []UpdatesRow  `json:"rows"`
	Absent  []Absent      `json:"absent,omitempty"`
}

// UpdatesRow is one lock.
type UpdatesRow struct {
	Lock      string         `json:"lock"`
	OwnFence  bool           `json:"own_fence"` // else the client draws a number from the store after its grant
	Unguarded []UpdatesCount `json:"unguarded"` // one for each seed
	Guarded   []UpdatesCount `json:"guarded"`   // by the fence
}

// UpdatesCount is what became of the updates under one seed.
type UpdatesCount struct {
	Seed    int64 `json:"seed"`
	Acked   int   `json:"acknowledged"`
	Lost    int   `json:"lost"`    // acknowledged, and missing in the end
	Refused int   `json:"refused"` // by the store, for an old fence
	Failed  int   `json:"failed"`  // of unknown outcome: neither acknowledged nor refused
	Pauses  int   `json:"pauses"`
}

// Total adds the counts of all seeds.
func Total(counts []UpdatesCount) UpdatesCount {
	var sum UpdatesCount
	for _, c := range counts {
		sum.Acked += c.Acked
		sum.Lost += c.Lost
		sum.Refused += c.Refused
		sum.Failed += c.Failed
		sum.Pauses += c.Pauses
	}
	return sum
}

// Share is the part of the acknowledged updates that was lost.
func (c UpdatesCount) Share() float64 { return Ratio(float64(c.Lost), float64(c.Acked)) }

// JepsenShare is what Jepsen's analysis of etcd 3.4.3 reports for etcd's lock with a lease of 2 s: about 18 %.
const JepsenShare = 0.18

// UpdatesLocks are the locks that are measured by default.
func UpdatesLocks() []string {
	return []string{"setpx-lua", "watchdog", "redisson", "redlock", "fenced", "zookeeper"}
}

// surprises: a fence leaves nothing to be lost.
func (u *Updates) surprises() []string {
	var out []string
	for _, row := range u.Rows {
		if lost := Total(row.Guarded).Lost; lost > 0 {
			out = append(out, fmt.Sprintf("%s: %d acknowledged updates are lost though the store compared fences", row.Lock, lost))
		}
	}
	return out
}
