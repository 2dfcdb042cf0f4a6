package locktest

import (
	"bytes"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/locklab/locklab/internal/racing"
)

// captured is standard error while libraries are tested. Loggers have kept os.Stderr itself: so the file behind it is changed, not the variable.
var captured struct {
	sync.Mutex
	tests  int
	stderr os.File // as it was
	file   *os.File
}

// quiet keeps what libraries log to os.Stderr out of a test's output until done is called, which says how much it was: the faults of scenarios are
// no news. The runtime's messages come through. With the race detector all do: other tests may be logging at the same time.
func quiet(t *testing.T) (done func()) {
	captured.Lock()
	defer captured.Unlock()
	if racing.Enabled {
		return func() {}
	}
	if captured.tests == 0 {
		file, err := os.CreateTemp("", "locktest-stderr-")
		if err != nil {
			return func() {}
		}
		_ = os.Remove(file.Name()) // now, where a file that is open can be removed: a process may be killed
		captured.file, captured.stderr = file, *os.Stderr
		*os.Stderr = *file
	}
	captured.tests++
	return func() {
		t.Helper()
		if text := release(); len(text) > 0 && testing.Verbose() {
			first, _, _ := bytes.Cut(text, []byte("\n"))
			t.Logf("libraries wrote %d lines to standard error, the first of which is: %s", bytes.Count(text, []byte("\n")), first)
		}
	}
}

// release gives standard error back after the last test, and returns what was written to it.
func release() []byte {
	captured.Lock()
	defer captured.Unlock()
	if captured.tests--; captured.tests > 0 {
		return nil
	}
	*os.Stderr = captured.stderr
	size, _ := captured.file.Seek(0, io.SeekEnd)
	text := make([]byte, size)
	_, _ = captured.file.ReadAt(text, 0)
	_ = captured.file.Close()
	_ = os.Remove(captured.file.Name())
	return text
}
