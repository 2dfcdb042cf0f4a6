//go:build linux || darwin

package reproduce_test

import (
	"os"
	"testing"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
)

func TestMain(m *testing.M) {
	lab.Serve(impls.All()...)
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil { // else each process under the c detector lingers for a second
		panic(err)
	}
	needs.SideBySide(4)
	os.Exit(m.Run())
}
