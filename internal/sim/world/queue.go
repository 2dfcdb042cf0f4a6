package world

import "time"

// In a queue an acquire is one operation with many tries, and a lock that keeps the queue is told of the wait. Otherwise each try is an acquire, and a
// try that is refused cannot be overtaken. Whoever waits asks again in time, so that the queue does not forget it.

// longWait is the bound of an acquire that waits until it has the lock.
const longWait = time.Hour

// queues says whether a client has been refused, and asks again.
func (p *player) queues(c *client) bool { return p.Queue && c.phase == waiting && c.count.tries > 0 }

// patient is how long such a client does not ask again, at most.
func (p *player) patient() int { return ms(p.Grid) }
