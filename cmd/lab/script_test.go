package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/racing"
	"github.com/locklab/locklab/internal/redisclient"
)

// The test binary is the lab as well: testscript installs it under these names, and the lab starts its guard and its workers
// from the name by which it was started itself.
func TestMain(m *testing.M) {
	needs.SideBySide(6)
	testscript.Main(m, map[string]func(){"lab": alone, "stub": stub, "oddlab": oddLab, "crashing": crashing})
}

// alone is the lab in one process. Without the second one, which only tells of a crash, hundreds of commands take half of the time; crashing has it, and so
// has what package endtoend builds.
func alone() {
	start(func(_ []string, work func(<-chan os.Signal) int) int { return work(nil) })
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		WorkdirRoot:         t.TempDir(), // its own one stays behind if -run leaves a script out
		Condition:           available,
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"events":  events,
			"replace": replace,
			"append":  appendTo,
			"serve":   startServer,
			"keys":    keys,
		},
	})
}

// setUp tells a script where things are, and sees to it that it leaves nothing behind.
func setUp(env *testscript.Env) error {
	for _, name := range []string{"PYTHON", "CI", "NO_COLOR", "TERM"} {
		env.Setenv(name, "")
	}
	env.Setenv("COLUMNS", "300")              // scripts are about what a line says; TestScreensFit is about where it is broken
	env.Setenv("GOGC", "400")                 // hundreds of short processes have nothing to collect
	env.Setenv("GORACE", "atexit_sleep_ms=0") // else each process of a lab under the race detector lingers for a second
	if path, err := needs.FindRedisPy(); err == nil {
		env.Setenv("PYTHON", path)
	}
	adapters, err := filepath.Abs(filepath.Join("..", "..", "adapters"))
	if err != nil {
		return err
	}
	env.Setenv("ADAPTERS", adapters)
	env.Setenv("KITS", filepath.Join(filepath.Dir(adapters), "internal", "kits"))
	matrix, err := filepath.Abs(filepath.Join("..", "..", "scenarios", "expected.txt"))
	if err != nil {
		return err
	}
	env.Setenv("MATRIX", matrix)
	lab, err := exec.LookPath("lab")
	if err != nil {
		return err
	}
	env.Setenv("LAB", lab)
	env.Defer(func() {
		if left := leftBehind(env.WorkDir); len(left) > 0 {
			env.T().Log("left behind: " + strings.Join(left, ", "))
			env.T().FailNow()
		}
	})
	return nil
}

// leftBehind lists the processes that still work below a script's directory, as far as the system tells, and the temporary
// files of the lab there.
func leftBehind(dir string) []string {
	left, _ := filepath.Glob(filepath.Join(dir, ".tmp", "locklab-*"))
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		cwd, err := os.Readlink(filepath.Join(process, "cwd"))
		if err == nil && strings.HasPrefix(cwd+"/", dir+"/") { // another script's name may begin with that of this one
			command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
			left = append(left, fmt.Sprintf("process %s: %q", filepath.Base(process), command))
		}
	}
	return left
}

// available is what scripts may need of the machine. What LOCKLAB_REQUIRE names must be there. With race there is the race detector, which is told of
// the same goroutines by other scripts. With long, tests run in full.
func available(word string) (bool, error) {
	var err error
	switch word {
	case "race":
		return racing.Enabled, nil
	case "long":
		return needs.Full(), nil
	case "redis":
		_, _, err = redis.Find()
	case "zookeeper":
		_, _, err = zookeeper.Find()
	case "python":
		_, err = needs.FindRedisPy()
	default:
		return false, fmt.Errorf("unknown condition %q", word)
	}
	if err != nil && needs.Required(word) {
		return false, fmt.Errorf("LOCKLAB_REQUIRE names %s: %w", word, err)
	}
	return err == nil, nil
}

// exits runs a command that must end with the given code, or one of several: exits CODE[,CODE]... COMMAND [ARGUMENT]...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want := strings.Split(args[0], ",")
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var end *exec.ExitError
	switch {
	case errors.As(err, &end):
		got = end.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if neg || !slices.Contains(want, strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s\n%s%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// events checks that a file has one JSON object a line, and counts the kinds of events: events FILE KIND=N...
func events(ts *testscript.TestScript, neg bool, args []string) {
	counts := map[string]int{}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var event struct {
			Version int    `json:"v"`
			Event   string `json:"event"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Version != 1 {
			ts.Fatalf("no event: %s (%v)", line, err)
		}
		counts[event.Event]++
	}
	for _, arg := range args[1:] {
		kind, number, _ := strings.Cut(arg, "=")
		if got := strconv.Itoa(counts[kind]); neg || got != number {
			ts.Fatalf("%s %s events, want %s", got, kind, number)
		}
	}
}

// replace changes a text in a file, everywhere: replace FILE OLD NEW
func replace(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	if neg || !bytes.Contains(text, []byte(args[1])) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, bytes.ReplaceAll(text, []byte(args[1]), []byte(args[2])), 0o644))
}

// appendTo puts a text at the end of a file, without a line break: append FILE TEXT
func appendTo(ts *testscript.TestScript, _ bool, args []string) {
	file, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = file.WriteString(args[1])
	ts.Check(errors.Join(err, file.Close()))
}

// startServer starts a server, or chooses an address at which nobody listens, and puts it into a variable: serve redis|keeper|http|nobody NAME.
// A keeper is a Redis that lets nobody UNLINK a key.
func startServer(ts *testscript.TestScript, _ bool, args []string) {
	switch args[0] {
	case "redis", "keeper", "guarded":
		redis := miniredis.NewMiniRedis()
		ts.Check(redis.Start())
		if args[0] == "guarded" {
			redis.RequireAuth("hush")
		}
		if args[0] == "keeper" { // it refuses to delete, but for what is tried before the first cell
			var tried atomic.Bool
			redis.Server().SetPreHook(func(peer *miniserver.Peer, command string, _ ...string) bool {
				refuses := strings.EqualFold(command, "UNLINK") && tried.Swap(true)
				if refuses {
					peer.WriteError("NOPERM this user has no permissions to run the 'unlink' command")
				}
				return refuses
			})
		}
		ts.Defer(redis.Close)
		ts.Check(redis.Set("somebody", "else"))
		ts.Setenv(args[1], redis.Addr())
	case "http":
		web := httptest.NewServer(http.NotFoundHandler())
		ts.Defer(web.Close)
		ts.Setenv(args[1], web.Listener.Addr().String())
	case "silent":
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Defer(func() { listener.Close() })
		ts.Setenv(args[1], listener.Addr().String())
	case "nobody": // a port that is free now may be another test's soon
		ts.Setenv(args[1], "127.0.0.1:1")
	default:
		ts.Fatalf("serve %s: unknown", args[0])
	}
}

// keys checks which keys a Redis has: keys ADDR [KEY]...
func keys(ts *testscript.TestScript, neg bool, args []string) {
	client := redisclient.New(args[0], redisclient.Settings{})
	defer client.Close()
	found, err := client.Keys(context.Background(), "*").Result()
	ts.Check(err)
	slices.Sort(found)
	if neg == slices.Equal(found, args[1:]) {
		ts.Fatalf("the keys are %q", found)
	}
}
