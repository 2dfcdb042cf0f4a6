//go:build !race

// Package racing says whether the race detector is on. What is long and runs in one goroutine then does a part: the rest would show
// the detector nothing new.
package racing

// Enabled: the race detector is on.
const Enabled = false
