// Package bench is what a measurement found: its figures, statistics over them, and the articles' figures beside them.
//
// It owns the record of a measurement. It must not know how anything was measured, or how it is shown.
package bench

import "time"

// Version is that of the record as JSON.
const Version = 2

// Kind says what was measured.
type Kind string

// The kinds of measurements.
const (
	KindMarket  Kind = "market"
	KindWaiting Kind = "waiting"
	KindLocks   Kind = "locks"
	KindUpdates Kind = "updates"
)

// Record is one measurement. Durations are in nanoseconds.
type Record struct {
	Version  int           `json:"v"`
	Kind     Kind          `json:"kind"`
	ID       string        `json:"id"`
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"`
	Finished bool          `json:"finished"` // false: it was interrupted, and has the figures known by then
	Lab      string        `json:"lab"`
	Platform string        `json:"platform"`
	Cores    int           `json:"cores"`
	Server   string        `json:"server"`
	Clients  string        `json:"clients"` // what the clients are, and how many
	Path     string        `json:"path"`    // what lies between a client and its server
	Command  []string      `json:"command,omitempty"`

	// The figures; those of the record's kind are not nil.
	Market  *Market  `json:"market,omitempty"`
	Waiting *Waiting `json:"waiting,omitempty"`
	Locks   *Locks   `json:"locks,omitempty"`
	Updates *Updates `json:"updates,omitempty"`
}

// Straight is the path of every measurement so far.
const Straight = "clients connect straight to the servers: no proxy, no tap, no state probes"

// Empty says whether nothing was measured.
func (r *Record) Empty() bool {
	switch {
	case r.Market != nil:
		return len(r.Market.Cells) == 0
	case r.Waiting != nil:
		return len(r.Waiting.Sale) == 0 && len(r.Waiting.Held) == 0
	case r.Locks != nil:
		return len(r.Locks.Rows) == 0
	case r.Updates != nil:
		return len(r.Updates.Rows) == 0
	}
	return true
}

// Surprises are the figures that cannot be, whatever the speed of the machine: one sentence each.
func (r *Record) Surprises() []string {
	switch {
	case r.Market != nil:
		return r.Market.surprises()
	case r.Updates != nil:
		return r.Updates.surprises()
	}
	return nil
}

// Absent is a lock that could not be measured.
type Absent struct {
	Lock string `json:"lock"`
	Why  string `json:"why"`
}

// Planned are the locks that the articles compare others with, and whose servers the lab does not have.
func Planned() []Absent {
	return []Absent{
		{"etcd", "only --client measures it, with adapters/etcd"},
		{"postgres", "only --client measures it, with adapters/postgres"},
	}
}
