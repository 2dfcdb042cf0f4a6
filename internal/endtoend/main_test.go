//go:build linux || darwin

package endtoend

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/hostile"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/racing"
)

// binary names the environment variable with the path of the lab under test.
const binary = "LOCKLAB_TEST_BINARY"

func TestMain(m *testing.M) {
	servertest.Become(map[string]func() error{
		"toxiproxy": serveToxiproxy,
		"hostile":   func() error { return hostile.Run(os.Stdin, os.Stdout) },
	})
	needs.SideBySide(4)
	code, err := withLab(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// withLab builds the lab for as long as the tests run.
func withLab(tests func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "locklab-endtoend-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	lab := filepath.Join(dir, "lab")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", lab, "github.com/locklab/locklab/cmd/lab")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the lab: %w\n%s", err, out)
	}
	if err := os.Setenv(binary, lab); err != nil {
		return 0, err
	}
	return tests(), nil
}

// serveToxiproxy does what the command toxiproxy-server does. It says first where its API is.
func serveToxiproxy() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	return http.Serve(listener, api.Routes())
}

// skipRacing skips a long test: the lab that it starts is built without the race detector, so the test shows what it shows without.
func skipRacing(t *testing.T) {
	t.Helper()
	if racing.Enabled {
		t.Skip("runs the lab that go test has run without the race detector")
	}
}
