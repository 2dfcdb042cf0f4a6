//go:build !race

// Package racing owns one fact: whether the race detector is on. Long tests in one goroutine then do a part of their work, because the rest
// would show the detector nothing new. It must not know who asks.
package racing

// Enabled: the race detector is on.
const Enabled = false
