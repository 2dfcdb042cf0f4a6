package checker

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets properties be tried on thousands of histories: they are small, and what goes wrong is rare.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("2000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
