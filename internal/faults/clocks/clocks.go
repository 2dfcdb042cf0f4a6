// Package clocks sets the clocks of programs that know nothing of the lab: Python by a site hook, Node by a preload, and on Linux whatever else asks
// the C library by a shim that is compiled where there is a C compiler. A program in Go has to be built with an overlay. Wall clock and monotonic clock are two: both run at the rate, and only
// the wall clock steps.
//
// It owns the hooks, the page by which they learn of a setting, and the answer to which programs they reach. It must not know clients, scripts
// or histories.
package clocks

import (
	"embed"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

//go:embed hooks
var hooks embed.FS

// Variable is the environment variable that tells hooks where their page is.
const Variable = "LOCKLAB_CLOCK"

// Kit has the hooks in files. It is safe for concurrent use.
type Kit struct {
	makeDir func() (string, error)
	run     func(*exec.Cmd) ([]byte, error)

	once sync.Once
	dir  string
	err  error
	shim string // empty: there is none, and why says why
	why  string

	mu sync.Mutex
	n  int
}

// NewKit is a kit whose files will lie in a directory that is made when the first clock is, and must be there for as long as programs run. run
// runs a compiler, and returns all that it says.
func NewKit(makeDir func() (string, error), run func(*exec.Cmd) ([]byte, error)) *Kit {
	return &Kit{makeDir: makeDir, run: run}
}

// prepare writes the hooks, and compiles the shim.
func (k *Kit) prepare() {
	if k.dir, k.err = k.makeDir(); k.err != nil {
		return
	}
	for _, name := range []string{"sitecustomize.py", "clock.js", "clock.c"} {
		text, err := hooks.ReadFile("hooks/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(k.dir, name), text, 0o600)
		}
		if err != nil {
			k.err = fmt.Errorf("hooks for clocks: %w", err)
			return
		}
	}
	k.shim, k.why = k.compile()
}

// compile compiles the shim, and says why there is none. It is not optimised: that takes half of the time, which each run spends.
func (k *Kit) compile() (shim, why string) {
	if runtime.GOOS != "linux" {
		return "", "only on Linux can a shim be put before the C library"
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		compiler, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		shim := filepath.Join(k.dir, "clock.so")
		cmd := exec.Command(compiler, "-shared", "-fPIC", "-O0", "-o", shim, filepath.Join(k.dir, "clock.c"), "-ldl", "-lpthread")
		cmd.Env = append(os.Environ(), "TMPDIR="+k.dir) // a compiler that is killed leaves files there
		out, err := k.run(cmd)
		if err != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			return "", fmt.Sprintf("%s cannot compile the lab's shim: %v: %s", name, err, first)
		}
		return shim, ""
	}
	return "", "this machine has no C compiler for the lab's shim (cc, gcc or clang)"
}

// Clock is the clock of one program and of all that it starts.
type Clock struct {
	kit        *Kit
	path       string
	generation uint64
}

// New is a clock that is right, for a program that has not been started yet.
func (k *Kit) New() (*Clock, error) {
	k.once.Do(k.prepare)
	if k.err != nil {
		return nil, k.err
	}
	k.mu.Lock()
	k.n++
	c := &Clock{kit: k, path: filepath.Join(k.dir, fmt.Sprintf("clock-%d", k.n))}
	k.mu.Unlock()
	page := make([]byte, pageSize)
	copy(page, setting(0, 0, 1, time.Time{}))
	return c, os.WriteFile(c.path, page, 0o600)
}

// Env is an environment in which a program loads the hooks, with what the given one asks to be loaded besides.
func (c *Clock) Env(environ []string) []string {
	env := append([]string(nil), environ...)
	env = append(env, Variable+"="+c.path)
	env = before(env, "PYTHONPATH", c.kit.dir, string(os.PathListSeparator))
	env = before(env, "NODE_OPTIONS", "--require="+filepath.Join(c.kit.dir, "clock.js"), " ")
	if c.kit.shim != "" {
		env = before(env, "LD_PRELOAD", c.kit.shim, ":")
	}
	return env
}

// before puts a value before what a variable has.
func before(env []string, name, value, sep string) []string {
	for i := len(env) - 1; i >= 0; i-- {
		if was, found := strings.CutPrefix(env[i], name+"="); found && was != "" {
			value += sep + was
			break
		}
	}
	return append(env, name+"="+value)
}

// pageSize is that of the page that hooks map.
const pageSize = 4096

// setting is what the page says: from a time on the wall clock runs at a rate, with an offset. The generation stands at both ends, so that a
// reader notices a setting that is being written.
func setting(generation uint64, offset time.Duration, rate float64, at time.Time) []byte {
	out := binary.LittleEndian.AppendUint64(nil, generation)
	out = binary.LittleEndian.AppendUint64(out, uint64(offset.Nanoseconds()))
	out = binary.LittleEndian.AppendUint64(out, math.Float64bits(rate))
	base := int64(0)
	if !at.IsZero() {
		base = at.UnixNano()
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(base))
	return binary.LittleEndian.AppendUint64(out, generation)
}

// Set sets the clock: from now on the wall clock starts at the right time plus offset, and runs at rate. It is not for several goroutines at once.
func (c *Clock) Set(offset time.Duration, rate float64) error {
	file, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	c.generation++
	page := setting(c.generation, offset, rate, time.Now())
	_, err = file.WriteAt(page[:8], 0) // from here on readers wait
	if err == nil {
		_, err = file.WriteAt(page[8:], 8)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
