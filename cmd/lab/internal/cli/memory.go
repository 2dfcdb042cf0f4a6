package cli

import (
	"os"
	"runtime/debug"

	"github.com/locklab/locklab/internal/supervise"
)

// CollectLess lets the heap grow to five times what is in use before garbage is collected, unless GOGC says otherwise or the address space is limited. A run of many cells
// makes much garbage and keeps little: this saves a fifth of the processor time of a suite, for some 60 MB. A search saves a twentieth while its
// tables are small, for some 150 MB.
func CollectLess() {
	if !supervise.Confined() {
		collect(400)
	}
}

// CollectAsUsual ends what CollectLess has begun.
func CollectAsUsual() { collect(100) }

// CollectMore lets the heap grow by two fifths only, unless GOGC says otherwise. Those who read a long history keep much and make little
// garbage: this saves a fifth of their memory, for a twentieth of their time.
func CollectMore() { collect(40) }

func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
