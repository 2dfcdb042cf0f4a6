package explore

import (
	"time"

	"github.com/locklab/locklab/internal/sim/learn"
)

// ms is a time in milliseconds, mostly one from now.
type ms = learn.MS

// never does not come.
const never = learn.Never

func duration(t ms) time.Duration { return learn.Duration(t) }

// fullMS rounds toward zero.
func fullMS(d time.Duration) ms { return learn.FullMS(d) }
