package needs

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/locklab/locklab/internal/racing"
)

// switchName names the environment variable that is 1 where tests run in full, as in .ci/run.
const switchName = "LOCKLAB_LONG"

// Full says whether tests run in full. Otherwise each leaves out what takes long, and says so.
func Full() bool { return os.Getenv(switchName) == "1" }

// Long skips a test, or a part of one, unless tests run in full. What it does that takes long is said in a few words.
func Long(t testing.TB, what string) {
	t.Helper()
	if !Full() {
		t.Skipf("long: %s; %s=1 runs it", what, switchName)
	}
}

// Count is how many of something a test goes through: all if tests run in full, else few, which it logs.
func Count(t testing.TB, things string, few, all int) int {
	t.Helper()
	if Full() {
		return all
	}
	t.Logf("long: %d of %d %s; %s=1 takes all", few, all, things, switchName)
	return few
}

// SideBySide has so many parallel tests of a package run at a time, for packages whose tests wait more than they compute. It is called before the flags
// are read, so that -parallel has the last word. With the race detector they compute more, and it does nothing.
func SideBySide(tests int) {
	if !racing.Enabled {
		_ = flag.Set("test.parallel", strconv.Itoa(tests)) // go test has the flag
	}
}
