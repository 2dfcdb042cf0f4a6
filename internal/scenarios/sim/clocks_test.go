package sim_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// clocksRead notes which clocks a lock reads.
type clocksRead struct {
	mu   sync.Mutex
	read map[impls.Clock]bool
}

func (r *clocksRead) note(c impls.Clock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[c] = true
}

// readingEnv is the Env of a lock whose clocks are watched.
type readingEnv struct {
	impls.Env
	by *clocksRead
}

func (e readingEnv) Now() time.Time {
	e.by.note(impls.WallClock)
	return e.Env.Now()
}

func (e readingEnv) Monotonic() time.Duration {
	e.by.note(impls.MonotonicClock)
	return e.Env.Monotonic()
}

// TestCardsNameTheClocks plays each lock where it acquires, waits, is refused and renews.
func TestCardsNameTheClocks(t *testing.T) {
	builtin, err := scenarios.Builtin()
	require.NoError(t, err)
	var scripts []*scenarios.Script
	for _, name := range []string{"take-turns", "holder-crashes", "waiting-clock-set-back"} {
		script, found := scenarios.Find(builtin, name)
		require.True(t, found, name)
		scripts = append(scripts, script)
	}
	var subjects []play.Subject
	watched := map[string]*clocksRead{}
	for _, spec := range impls.All() {
		by := &clocksRead{read: map[impls.Clock]bool{}}
		open := spec.New
		spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
			if env == nil { // asked only what it can do
				return open(nil, opts)
			}
			return open(readingEnv{env, by}, opts)
		}
		watched[spec.Name] = by
		subjects = append(subjects, play.SubjectOf(spec))
	}
	_, err = lab.Run(t.Context(), lab.Plan{Cases: lab.Cases(scripts, subjects, 1, lab.Expect(nil)), Options: lab.Options{
		Setting: lab.Setting{World: lab.Sim}, Parallel: 2, Seed: 1, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")},
	}})
	require.NoError(t, err)
	for _, spec := range impls.All() {
		named := map[impls.Clock]bool{}
		for _, clock := range spec.Clocks {
			named[clock] = true
		}
		assert.Equal(t, named, watched[spec.Name].read, spec.Name)
	}
}
