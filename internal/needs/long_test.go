package needs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// recorder is a test that keeps what is said of it.
type recorder struct {
	testing.TB
	skipped, logged string
}

func (r *recorder) Helper()                          {}
func (r *recorder) Skipf(format string, args ...any) { r.skipped = fmt.Sprintf(format, args...) }
func (r *recorder) Logf(format string, args ...any)  { r.logged = fmt.Sprintf(format, args...) }

func TestOneSwitch(t *testing.T) {
	for setting, full := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv(switchName, setting)
		r := &recorder{TB: t}
		Long(r, "plays every kit")
		n := Count(r, "locks", 2, 40)
		if full {
			assert.Equal(t, &recorder{TB: t}, r)
			assert.Equal(t, 40, n)
			continue
		}
		assert.Equal(t, "long: plays every kit; LOCKLAB_LONG=1 runs it", r.skipped)
		assert.Equal(t, "long: 2 of 40 locks; LOCKLAB_LONG=1 takes all", r.logged)
		assert.Equal(t, 2, n)
	}
}
