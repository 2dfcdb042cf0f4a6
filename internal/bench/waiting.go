package bench

import "time"

// Waiting has the figures of ways to wait for a lock.
type Waiting struct {
	Requests int           `json:"requests"`
	AtOnce   int           `json:"at_once"`
	Within   time.Duration `json:"within_ns"` // a request that has no lock by then has failed
	Sale     []WaitingCell `json:"sale"`      // article 000's flash sale (W2)
	Waiters  int           `json:"waiters"`
	For      time.Duration `json:"for_ns"` // of each cell in Held
	Held     []WaitingCell `json:"held"`   // a lock that is held for a time, by many in turn
	Absent   []Absent      `json:"absent,omitempty"`
}

// Stock is where the stock of a flash sale is.
type Stock string

// The stocks.
const (
	InMemory Stock = "memory" // of the process, as published
	InStore  Stock = "store"
)

// Stocks lists them.
func Stocks() []Stock { return []Stock{InMemory, InStore} }

// WaitingCell is one way to wait.
type WaitingCell struct {
	Way      string        `json:"way"`
	Lock     string        `json:"lock"`
	Stock    Stock         `json:"stock,omitempty"`   // of a sale
	Hold     time.Duration `json:"hold_ns,omitempty"` // else
	Granted  int           `json:"granted"`
	Failed   int           `json:"failed"`
	Sold     int           `json:"sold,omitempty"`
	Took     time.Duration `json:"took_ns"`
	Time     Spread        `json:"time"`     // of a request, or of a wait
	Fairness float64       `json:"fairness"` // Jain's index of these times
	Commands int64         `json:"commands"` // sent to the server for the lock
}

// PerGrant is how many commands were sent for each acquisition.
func (c WaitingCell) PerGrant() float64 { return Ratio(float64(c.Commands), float64(c.Granted)) }

// Strategy is a way to wait as it is measured.
type Strategy struct {
	Way  string
	Lock string
	Said string // article 000 about it; empty: nothing
}

// Poll is the way that wake-ups are compared with.
const Poll = "sleep:50ms"

// backOff doubles its sleep from 10 ms to a second, with jitter.
const backOff = "backoff:10ms,1s,1"

// Strategies are those of the flash sale: the five of article 000, and two more.
func Strategies() []Strategy {
	return []Strategy{
		{"spin-yield:600ms", "setpx-lua", "floods Redis and fails often"},
		{"yield-sleep:600ms,200ms", "setpx-lua", "takes half the time and fails far less, but yielding burdens Redis"},
		{"sleep:200ms", "setpx-lua", "about as good as the second, better for the first 90 % of requests; chosen"},
		{"sleep:2s", "setpx-lua", "makes some wait too long"},
		{"yield", "setpx-lua", "no result is told"},
		{backOff, "setpx-lua", ""},
		{"wake", "redisson", ""},
		{"wake", "redisson-fair", ""},
		{"wake", "zookeeper", ""},
	}
}

// HeldStrategies are those of the lock that is held for a time.
func HeldStrategies() []Strategy {
	return []Strategy{
		{Poll, "setpx-lua", ""},
		{Poll, "redisson", ""},
		{backOff, "setpx-lua", ""},
		{"wake", "redisson", ""},
		{"wake", "redisson-fair", ""},
		{"wake", "zookeeper", ""},
		{"wake", "zookeeper-herd", ""},
	}
}
