package checker

import (
	"flag"
	"os"
	"testing"

	"github.com/locklab/locklab/internal/needs"
)

// TestMain lets properties be tried on thousands of histories: they are small, and what goes wrong is rare.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		histories := "800"
		if needs.Full() {
			histories = "2000"
		}
		if err := checks.Value.Set(histories); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
