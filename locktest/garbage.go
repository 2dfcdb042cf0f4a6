package locktest

import (
	"os"
	"runtime/debug"
	"sync"
)

// collector is what searches under way have set the garbage collector to.
var collector struct {
	sync.Mutex
	searches int
	before   int // the percentage, without a search
}

// rareCollections is the percentage while a search lasts, unless the test has a greater one, or none. Little of a schedule lives on, so collections
// cost much and free all: with the usual 100 a search on two processors comes through a third fewer commands. A memory limit holds all the same.
const rareCollections = 800

// collectRarely has garbage collected less often until done is called, unless GOGC says how often.
func collectRarely() (done func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	collector.Lock()
	defer collector.Unlock()
	if collector.searches++; collector.searches == 1 {
		if collector.before = debug.SetGCPercent(rareCollections); collector.before < 0 || collector.before > rareCollections {
			debug.SetGCPercent(collector.before)
		}
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.searches--; collector.searches == 0 {
			debug.SetGCPercent(collector.before)
		}
	}
}
