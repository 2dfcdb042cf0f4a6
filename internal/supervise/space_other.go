//go:build !linux

package supervise

// Confined says that no limit of the address space matters.
func Confined() bool { return false }

func environment() []string { return nil }
