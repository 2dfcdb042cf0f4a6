package waiting

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/impls"
)

// Pause is the default sleep between two tries.
const Pause = 20 * time.Millisecond

// Default is the default way to wait for the lock: the sleep of its source, or its wake-ups if it has any, or else a short sleep. It never
// spins: thousands of tries hide the few that matter, and keep a core busy.
func Default(lock impls.Lock) Way {
	if paced, ok := lock.(impls.Paced); ok && paced.Pause(0) > 0 {
		return pausing(paced.Pause)
	}
	if _, ok := lock.(impls.Waker); ok {
		return Wake(Pause)
	}
	return Sleep(Pause)
}

// Parse reads the name of a way to wait; docs/tables/protocol.md lists them. needsWaker: the lock must be a Waker.
func Parse(text string) (way Way, needsWaker bool, _ error) {
	name, list, _ := strings.Cut(text, ":")
	var args []string
	if list != "" {
		args = strings.Split(list, ",")
	}
	switch {
	case name == "spin" && len(args) == 0:
		return Spin(), false, nil
	case name == "yield" && len(args) == 0:
		return Yield(), false, nil
	case name == "published" && len(args) == 0:
		return Published, false, nil
	case name == "wake" && len(args) == 0:
		return Wake(Pause), true, nil
	case name == "backoff" && len(args) == 3:
		way, err := parseBackOff(args)
		return way, false, err
	}
	times, err := durations(args)
	if err != nil {
		return nil, false, err
	}
	switch {
	case name == "sleep" && len(times) == 1:
		return Sleep(times[0]), false, nil
	case name == "spin-yield" && len(times) == 1:
		return SpinThenYield(times[0]), false, nil
	case name == "yield-sleep" && len(times) == 2:
		return YieldThenSleep(times[0], times[1]), false, nil
	}
	return nil, false, fmt.Errorf("%q is no way to wait", text)
}

// For is the named way to wait for a lock, or the lock's default if the name is empty. It says why if the lock does not support it.
func For(name string, lock impls.Lock) (_ Way, why string) {
	if _, blocks := lock.(impls.Blocking); blocks && name == "" {
		return nil, ""
	}
	if name == "" {
		return Default(lock), ""
	}
	way, needsWaker, err := Parse(name)
	if err != nil {
		return nil, err.Error()
	}
	if _, wakes := lock.(impls.Waker); needsWaker && !wakes {
		return nil, "this lock has no wake-ups"
	}
	return way, ""
}

func parseBackOff(args []string) (Way, error) {
	times, err := durations(args[:2])
	if err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the seed %q is no whole number", args[2])
	}
	return BackOff(times[0], times[1], seed), nil
}

func durations(args []string) ([]time.Duration, error) {
	var times []time.Duration
	for _, arg := range args {
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("%q is no length of time above zero", arg)
		}
		times = append(times, d)
	}
	return times, nil
}

// Check says what is wrong with the name of a way to wait; the empty one is the lock's own way.
func Check(text string) error {
	if text == "" {
		return nil
	}
	if _, _, err := Parse(text); err != nil {
		return fmt.Errorf("%w; write for example %q or %q", err, "sleep:200ms", "yield-sleep:600ms,200ms")
	}
	return nil
}

// Example is a way to wait by its name.
type Example struct{ Name, Idea string }

// Examples has one of each kind, with the times of article 000, W2, where it names any.
func Examples() []Example {
	return []Example{
		{"spin", "try again at once"},
		{"yield", "let others run first; W2's fifth"},
		{"sleep:200ms", "W2's third"},
		{"sleep:2s", "W2's fourth"},
		{"spin-yield:600ms", "spin, then yield; W2's first"},
		{"yield-sleep:600ms,200ms", "yield, then sleep; W2's second"},
		{"backoff:10ms,1s,1", "sleep for longer and longer, with jitter from a seed"},
		{"published", "as the lock's published code does, even if it spins"},
		{"wake", "until a release says so, where the lock publishes that"},
	}
}
