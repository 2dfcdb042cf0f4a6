// Package needs owns what becomes of a test for which this machine lacks something: it is skipped, or fails if LOCKLAB_REQUIRE names that.
//
// It must not know how servers are found.
package needs

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Required says whether LOCKLAB_REQUIRE names the part: redis, zookeeper, python, …
func Required(part string) bool {
	return slices.Contains(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), part)
}

// Part skips the test if err is not nil: then it says what is missing. It fails the test instead if the part is required.
func Part(t testing.TB, part string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case Required(part):
		t.Fatalf("LOCKLAB_REQUIRE names %s: %v", part, err)
	default:
		t.Skip(err)
	}
}

// Found is Part for what a function looks for, for example server.FindRedis.
func Found[A, B any](t testing.TB, part string, find func() (A, B, error)) {
	t.Helper()
	_, _, err := find()
	Part(t, part, err)
}

// Program is the path of a program.
func Program(t testing.TB, part, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	Part(t, part, err)
	return path
}

// RedisPy is the path of an interpreter of Python that has redis-py.
func RedisPy(t testing.TB) string {
	t.Helper()
	path, err := FindRedisPy()
	Part(t, "python", err)
	return path
}

// FindRedisPy looks for an interpreter of Python that has redis-py, once: it takes a third of a second. A python3 that is a script in front of the
// interpreter (pyenv) would take as long again each time that a client is started.
var FindRedisPy = sync.OnceValues(func() (string, error) {
	for _, path := range []string{"python3", "/usr/bin/python3"} {
		if itself, err := exec.Command(path, "-c", "import redis, sys; print(sys.executable)").Output(); err == nil {
			return strings.TrimSpace(string(itself)), nil
		}
	}
	return "", errors.New("no python3 with redis-py (Debian: python3-redis)")
})
