package past

import (
	"fmt"
	"strconv"
	"time"

	"github.com/locklab/locklab/internal/sim/process"
)

// monotonicZero is what a monotonic clock shows at the beginning: more than a clock is ever behind.
const monotonicZero = time.Hour

// Epoch is what a right clock shows at the beginning.
var Epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// host answers what a lock asks in the middle of a step.
type host struct {
	client, tokens int
	shown          Reading
	read           bool           // a clock was read
	asked          bool           // the session was asked for
	watches        map[int]string // the nodes that are watched, by the numbers of the watches
}

func (h *host) Now() time.Time {
	h.read = true
	return Epoch.Add(h.shown.Clock + h.shown.Ahead)
}

// Monotonic counts from a moment of its own, and does not step.
func (h *host) Monotonic() time.Duration {
	h.read = true
	return h.shown.Clock + monotonicZero
}

// Life is the number of the session.
func (h *host) Life(string) int {
	h.asked = true
	return h.shown.Life
}

// Lasts is how long it lasts at least.
func (h *host) Lasts(string) time.Duration {
	h.asked = true
	return h.shown.Lasts
}

func (h *host) Token() string {
	h.tokens++
	if h.tokens > 26 {
		return Tokens(h.client) + strconv.Itoa(h.tokens)
	}
	return Tokens(h.client) + string(rune('a'+h.tokens-1))
}

// Tokens is how the tokens of a client begin.
func Tokens(client int) string { return fmt.Sprintf("C%d#", client+1) }

// follow notes which nodes are watched, and what a task waits for that waits for the change of one.
func (h *host) follow(waits []process.Wait) {
	for i := range waits {
		switch w := &waits[i]; {
		case w.Number == 0:
		case w.Kind == process.Request:
			h.watches[w.Number] = w.Commands[0][1]
		case w.Kind == process.Message:
			w.Commands = [][]string{{"WATCH", h.watches[w.Number]}}
		}
	}
}

// Watched is the path of the node that a task watches.
func Watched(wait *process.Wait) string { return wait.Commands[0][1] }
