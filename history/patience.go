package history

import "time"

// leastPatience leaves room for the time-outs and retries of client libraries, of which many are a few seconds long.
const leastPatience = 10 * time.Second

// Patience is how long an operation may take that its caller gave no bound, while nothing but the lock delays it: by then every lease from before has
// ended, and whoever waited for one has seen it.
func Patience(lease time.Duration) time.Duration { return max(lease+lease/4, leastPatience) }
