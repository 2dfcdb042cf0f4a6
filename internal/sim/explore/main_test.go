package explore

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/locklab/locklab/internal/needs"
)

// TestMain has less garbage collected in the quick run, whose searches are small.
func TestMain(m *testing.M) {
	if _, set := os.LookupEnv("GOGC"); !set && !needs.Full() {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
