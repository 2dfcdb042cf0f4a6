//go:build !unix

package live

import "math"

// fileLimit is how many files this process may have open: the system has no such limit.
func fileLimit() uint64 { return math.MaxInt32 }
