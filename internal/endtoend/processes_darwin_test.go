package endtoend

import "testing"

// processes cannot be told by their environment here: macOS does not show it of its own programs. What is left of processes
// is looked for on Linux.
func processes(*testing.T, string) []string { return nil }
