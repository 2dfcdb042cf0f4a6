//go:build !linux

package process

// limitMemory does nothing: only Linux limits another process.
func limitMemory(int, uint64) error { return nil }
