package needs

import (
	"os"
	"testing"
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
