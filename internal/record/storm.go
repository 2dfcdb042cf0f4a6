package record

import (
	"time"

	"github.com/locklab/locklab/checker"
)

// Storm is what a report says of a storm beside its verdict.
type Storm struct {
	Seed       int64 `json:"seed"`
	Operations int   `json:"operations"` // that were answered
	Planned    int   `json:"planned"`    // faults of the plan
	Faults     int   `json:"faults"`     // of these, those that took effect
	// First is how the first promise was broken; nil if none was.
	First *First `json:"first,omitempty"`
	// Seen is when anomalies were seen, those included that the verdict leaves out; empty if it leaves none out.
	Seen []Seen `json:"seen,omitempty"`
}

// Seen is when anomalies of one sort were seen: the first in each tenth of a second, in milliseconds.
type Seen struct {
	Name   checker.Name `json:"name"`
	Beyond bool         `json:"beyond,omitempty"` // the lock does not promise to prevent them
	At     []int64      `json:"at_ms"`
}

// First is how soon a storm caught a lock.
type First struct {
	Name      checker.Name  `json:"name"`
	After     time.Duration `json:"after_ns"`  // since the storm began
	Operation int           `json:"operation"` // as how many operations had been answered
}
