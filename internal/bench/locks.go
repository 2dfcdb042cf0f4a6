package bench

import "time"

// Locks has the figures of acquire and release.
type Locks struct {
	For     time.Duration `json:"for_ns"` // of each lock, in each round
	Rounds  int           `json:"rounds"`
	Clients int           `json:"clients"` // that contend
	Wait    string        `json:"wait"`    // how they wait
	Plain   LockRow       `json:"plain"`   // SET and DEL, without a lock
	Rows    []LockRow     `json:"rows"`
	Absent  []Absent      `json:"absent,omitempty"`
}

// LockRow is one lock.
type LockRow struct {
	Lock    string `json:"lock"`
	Servers int    `json:"servers"`
	// Alone is one client, Together several at once; nil: not measured, for the reason in Why.
	Alone    *LockRate `json:"alone,omitempty"`
	Together *LockRate `json:"together,omitempty"`
	Check    *Spread   `json:"check,omitempty"` // of asking whether the lock is still held; nil: the lock cannot tell
	Why      string    `json:"why,omitempty"`
	// Uncounted: the lock connects to its service by itself, past whoever would count its commands.
	Uncounted bool `json:"uncounted,omitempty"`
}

// LockRate is how fast a lock is.
type LockRate struct {
	PerSecond float64 `json:"per_second"` // acquisitions, each with its release; the median of the rounds
	// Share of the rate of plain SET and DEL by one client in the same round; the median of the rounds.
	Share    float64 `json:"share"`
	Time     Spread  `json:"time"`     // of acquire and release alone; of acquire together
	Commands float64 `json:"commands"` // per acquisition
	Failed   int     `json:"failed"`   // acquires and releases
}

// Hold is the median time of a whole hold with nothing to do in it.
func (r LockRow) Hold() time.Duration {
	if r.Alone == nil {
		return 0
	}
	return r.Alone.Time.P50
}
