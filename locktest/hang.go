package locktest

import (
	"regexp"
	"runtime"
	"time"
)

// hangsAfter is when a bubble is looked at that has not ended. Most take milliseconds.
const hangsAfter = 10 * time.Second

// watch ends the process, with the reason, if a bubble can never end: a goroutine of the library waits for a mutex, and whoever has that waits for a
// message. A bubble goes on when all its goroutines are blocked, and one that waits for a mutex does not count as such.
func watch() (stop func() bool) {
	return time.AfterFunc(hangsAfter, func() {
		before := waitingForMutexes()
		time.Sleep(time.Second)
		for id := range waitingForMutexes() {
			if before[id] {
				panic("locktest: a goroutine of the lock waits for a sync.Mutex that another one holds while its command is under way, which a bubble of testing/synctest cannot follow. " +
					"Hold no mutex while a command is under way or, for the test, use a channel with room for one in its place.")
			}
		}
	}).Stop
}

var waitingForMutex = regexp.MustCompile(`(?m)^goroutine (\d+) .*\[sync\.(?:RW)?Mutex\.\w+.*synctest bubble`)

// waitingForMutexes are the goroutines in bubbles that wait for a mutex, by number.
func waitingForMutexes() map[string]bool {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	waiting := map[string]bool{}
	for _, match := range waitingForMutex.FindAllSubmatch(text, -1) {
		waiting[string(match[1])] = true
	}
	return waiting
}
