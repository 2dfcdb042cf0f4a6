//go:build linux

package clocks

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// Programs that print, for each line that they read, the wall clock and the monotonic clock in seconds, and at last how long a sleep of 100 ms took.
// The lab's own process measures that, so that no clock of theirs decides.
const (
	pythonProgram = `
import sys, time, datetime, threading
for line in sys.stdin:
    if line == "sleep\n": time.sleep(0.1); print("slept", flush=True); continue
    if line == "wait\n": threading.Event().wait(0.1); print("slept", flush=True); continue
    assert isinstance(datetime.datetime.now(), datetime.datetime) and abs(datetime.datetime.now().timestamp() - time.time()) < 5
    assert abs(datetime.datetime.now(datetime.timezone.utc).timestamp() - time.time()) < 5
    print("%.4f %.4f" % (time.time(), time.monotonic()), flush=True)
`
	nodeProgram = `
require('readline').createInterface({input: process.stdin}).on('line', (line) => {
  if (line === 'sleep') { setTimeout(() => console.log('slept'), 100); return; }
  if (line === 'wait') { require('timers/promises').setTimeout(100).then(() => console.log('slept')); return; }
  if (!(new Date() instanceof Date) || Math.abs(new Date().getTime() - Date.now()) > 5000 || new Date(5).getTime() !== 5) throw new Error('dates');
  console.log((Date.now() / 1000).toFixed(4) + ' ' + (Number(process.hrtime.bigint()) / 1e9).toFixed(4));
});
`
	cProgram = `
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(void) {
  char line[64];
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    struct timespec w, m;
    clock_gettime(CLOCK_REALTIME, &w);
    clock_gettime(CLOCK_MONOTONIC, &m);
    if (!strcmp(line, "sleep\n")) { usleep(100000); puts("slept"); continue; }
    if (!strcmp(line, "wait\n")) {
      pthread_cond_t c = PTHREAD_COND_INITIALIZER; pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
      w.tv_nsec += 100000000; if (w.tv_nsec >= 1000000000) { w.tv_sec++; w.tv_nsec -= 1000000000; }
      pthread_mutex_lock(&l); pthread_cond_timedwait(&c, &l, &w); pthread_mutex_unlock(&l);
      puts("slept"); continue;
    }
    printf("%.4f %.4f\n", w.tv_sec + w.tv_nsec / 1e9, m.tv_sec + m.tv_nsec / 1e9);
  }
}
`
)

// program is one that was started with the hooks.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.Writer
	out   *bufio.Reader
	clock *Clock
}

func start(t *testing.T, kit *Kit, argv ...string) *program {
	t.Helper()
	clock, err := kit.New()
	require.NoError(t, err)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = clock.Env(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		assert.NoError(t, cmd.Wait())
	})
	return &program{t, cmd, in, bufio.NewReader(out), clock}
}

func (p *program) say(line string) string {
	p.t.Helper()
	_, err := fmt.Fprintln(p.in, line)
	require.NoError(p.t, err)
	answer, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSpace(answer)
}

// shows is by how much its wall clock is ahead, and what its monotonic clock shows, in seconds.
func (p *program) shows() (ahead, mono float64) {
	p.t.Helper()
	answer := p.say("now")
	var wall float64
	_, err := fmt.Sscanf(answer, "%f %f", &wall, &mono)
	require.NoError(p.t, err, answer)
	return wall - float64(time.Now().UnixNano())/1e9, mono
}

// took is how long it takes for something.
func (p *program) took(what string) time.Duration {
	p.t.Helper()
	began := time.Now()
	require.Equal(p.t, "slept", p.say(what))
	return time.Since(began)
}

func newKit(t *testing.T) *Kit {
	return NewKit(func() (string, error) { return t.TempDir(), nil }, (*exec.Cmd).CombinedOutput)
}

// near allows for a machine that does not run the program for a while.
const near = 2.0

func TestClocksOfPrograms(t *testing.T) {
	kit := newKit(t)
	names := []string{"python3", "node", "c"}
	if *inGo {
		names = append(names, "go")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { checkClocks(t, start(t, kit, programFor(t, kit, name)...)) })
	}
}

// inGo has the clock of a program in Go checked, too.
var inGo = flag.Bool("go", false, "build a program in Go with the overlay; the first time that compiles Go's library")

// goProgram is pythonProgram in Go, whose monotonic clock begins with the program.
const goProgram = `package main

import ("bufio"; "context"; "fmt"; "os"; "time")

func main() {
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lines.Text() {
		case "sleep":
			time.Sleep(100 * time.Millisecond)
			fmt.Println("slept")
		case "wait":
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			<-ctx.Done()
			cancel()
			fmt.Println("slept")
		default:
			now := time.Now()
			fmt.Printf("%.4f %.4f\n", float64(now.UnixNano())/1e9, now.Sub(began).Seconds())
			if since, until := time.Since(now), time.Until(now); since < 0 || until > 0 || since > time.Hour {
				panic(fmt.Sprint(since, until))
			}
		}
	}
}
`

// goProgramFor builds the program with the overlay.
func goProgramFor(t *testing.T) []string {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	overlay, err := WriteOverlay(strings.TrimSpace(string(goroot)), filepath.Join(dir, "overlay"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(goProgram), 0o600))
	out, err := exec.Command("go", "build", "-overlay", overlay, "-o", filepath.Join(dir, "program"), filepath.Join(dir, "main.go")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return []string{filepath.Join(dir, "program")}
}

// programFor is a program by its language.
func programFor(t *testing.T, kit *Kit, name string) []string {
	t.Helper()
	if name == "go" {
		return goProgramFor(t)
	}
	source := map[string]string{"python3": pythonProgram, "node": nodeProgram, "c": cProgram}[name]
	path := filepath.Join(t.TempDir(), "program.js") // Node goes by the name
	require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
	if name != "c" {
		return []string{needs.Program(t, strings.TrimSuffix(name, "3"), name), path}
	}
	compiler := needs.Program(t, "cc", "cc")
	binary := filepath.Join(t.TempDir(), "program")
	out, err := exec.Command(compiler, "-x", "c", "-o", binary, path, "-lpthread").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return []string{binary}
}

func checkClocks(t *testing.T, p *program) {
	ahead, before := p.shows()
	assert.InDelta(t, 0, ahead, near)
	assert.Empty(t, p.clock.Reached(p.cmd.Process.Pid))

	require.NoError(t, p.clock.Set(time.Hour, 1))
	ahead, after := p.shows()
	assert.InDelta(t, 3600, ahead, near)
	assert.InDelta(t, before, after, 60, "a monotonic clock does not step")
	assert.GreaterOrEqual(t, after, before)
	assert.Less(t, p.took("wait"), 30*time.Second, "whoever waits until a time of its clock does not wait an hour")

	require.NoError(t, p.clock.Set(-time.Hour, 1))
	ahead, _ = p.shows()
	assert.InDelta(t, -3600, ahead, near)

	require.NoError(t, p.clock.Set(0, 0.2)) // a sleep of 100 ms takes half a second
	assert.GreaterOrEqual(t, p.took("sleep"), 400*time.Millisecond)
	assert.GreaterOrEqual(t, p.took("wait"), 400*time.Millisecond)
	began := time.Now()
	_, first := p.shows()
	between := time.Now()
	p.took("sleep")
	least := time.Since(between)
	_, second := p.shows()
	assert.GreaterOrEqual(t, second-first, 0.2*least.Seconds()-0.01, "the monotonic clock has the rate, too")
	assert.LessOrEqual(t, second-first, 0.2*time.Since(began).Seconds()+0.01)

	require.NoError(t, p.clock.Set(0, 1000))
	first = second
	p.took("sleep")
	_, second = p.shows()
	assert.Greater(t, second, first)

	require.NoError(t, p.clock.Set(0, 1))
	ahead, third := p.shows()
	assert.InDelta(t, 0, ahead, near)
	assert.GreaterOrEqual(t, third, second, "a monotonic clock never goes back")
}

// A program in another language behind a shell is reached, and what is not reached is named.
func TestWhatIsNotReached(t *testing.T) {
	kit := newKit(t)
	python := needs.Program(t, "python", "python3")
	path := filepath.Join(t.TempDir(), "program.py")
	require.NoError(t, os.WriteFile(path, []byte(pythonProgram), 0o600))
	isolated := start(t, kit, python, "-I", path)
	isolated.shows()
	assert.Contains(t, isolated.clock.Reached(isolated.cmd.Process.Pid), "has not loaded the lab's sitecustomize")

	test, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(echo, "1")
	unreached := start(t, kit, "/bin/sh", "-c", "exec "+test)
	unreached.say("anything")
	assert.Contains(t, unreached.clock.Reached(unreached.cmd.Process.Pid), "is a Go program, which reads the clock past the C library")

	bare := newKit(t)
	t.Setenv("PATH", "")
	shell := start(t, bare, "/bin/sh", "-c", "while read line; do echo slept; done")
	shell.say("anything")
	assert.Equal(t, "this machine has no C compiler for the lab's shim (cc, gcc or clang)", shell.clock.Reached(shell.cmd.Process.Pid))
}

// echo makes the test binary a program in Go that answers each line.
const echo = "LOCKLAB_TEST_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(echo) == "" {
		os.Exit(m.Run())
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("slept")
	}
}

// The hooks come before what the environment asks for already.
func TestEnv(t *testing.T) {
	kit := &Kit{dir: "/kit", shim: "/kit/clock.so"}
	env := (&Clock{kit: kit, path: "/kit/clock-1"}).Env([]string{"PYTHONPATH=/mine", "NODE_OPTIONS=--trace-warnings", "LD_PRELOAD="})
	assert.Equal(t, []string{
		"LOCKLAB_CLOCK=/kit/clock-1", "PYTHONPATH=/kit:/mine", "NODE_OPTIONS=--require=/kit/clock.js --trace-warnings", "LD_PRELOAD=/kit/clock.so",
	}, env[3:])
}
