//go:build !unix

package process

import "math"

// MostFiles is how many files this process may have open: the system has no such limit.
func MostFiles() uint64 { return math.MaxInt32 }
