//go:build linux || darwin

package live_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/hostile"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// pids names the directory in which workers leave their process ids.
const pids = "LOCKLAB_TEST_PIDS"

// TestMain lets one goroutine of toxiproxy be left behind: when a toxic that loses replies is removed from a connection on which a
// reply is just coming in, toxiproxy waits for ever to hand that reply on.
func TestMain(m *testing.M) {
	_, how, _ := strings.Cut(os.Getenv(servertest.Role), " ")
	servertest.Become(map[string]func() error{
		"guard": func() error { return live.GuardMain(os.Stdin, os.Stdout) },
		"host":  func() error { return live.HostMain(os.Stdin, os.Stdout) },
		"worker": func() error {
			if dir := os.Getenv(pids); dir != "" {
				_ = os.WriteFile(filepath.Join(dir, fmt.Sprint(os.Getpid())), nil, 0o600)
			}
			return worker.Run(context.Background(), os.Stdin, os.Stdout, append(impls.Every(), renewableLocks()...))
		},
		"hostile": func() error { return hostile.Run(os.Stdin, os.Stdout) },
		"odd":     func() error { return oddClient(how) },
		"keyed":   func() error { return keyedClient(how) },
	})
	needs.SideBySide(4)
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"))
}

// stalledFor is how long a client takes that is slow, or was not run.
const stalledFor = 300 * time.Millisecond

// oddClient is a worker with quirks, separated by commas: "refuse VERB" does not know the verb, though it says so nowhere; "ignore VERB"
// never answers it; "hang VERB" answers it when it is cancelled; "slow VERB" answers late, and "stalled VERB" says
// that it was not run meanwhile; "babble VERB" writes a line that is no protocol; "flood VERB" writes much to standard
// error first; "die VERB" exits; "send VERB COMMAND" sends the server a command first, in which {key} is the lock's key, and goes on whatever comes of it;
// "deaf VERB" looks once at the lock, and says no when its time is over; "persistent init" says in its hello that it resends what a connection has ended
// before; "late VERB" says that a sleep of it ended late by a third of the lease.
func oddClient(quirks string) error {
	hows := make(map[string]string)
	command := ""
	for quirk := range strings.SplitSeq(quirks, ", ") {
		how, verb, _ := strings.Cut(quirk, " ")
		if how == "send" {
			verb, command, _ = strings.Cut(verb, " ")
		}
		hows[verb] = how
	}
	hung := map[int64]bool{}
	var servers []string
	var lease float64 // in milliseconds
	var key string
	stdin, requests := io.Pipe()
	var stdout io.Writer = os.Stdout
	if hows[protocol.Init] == "persistent" {
		stdout = persistent{}
	}
	go func() {
		if err := worker.Run(context.Background(), stdin, stdout, impls.Every()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		req, err := protocol.DecodeRequest(lines.Bytes())
		if err != nil {
			return err
		}
		if req.Do == protocol.Init {
			servers = req.Servers
		}
		lease, key = max(lease, req.LeaseMS), cmp.Or(req.Key, key) // those of open
		switch how := hows[req.Do]; {
		case how == "hang":
			hung[req.ID] = true
		case req.Do == protocol.Cancel && hung[req.Op]:
			_, err = fmt.Printf(`{"id":%d,"outcome":"unknown"}`+"\n"+`{"id":%d,"outcome":"ok"}`+"\n", req.Op, req.ID)
		case how == "", how == "persistent", how == "deaf" && req.WithinMS == 0:
			_, err = fmt.Fprintf(requests, "%s\n", lines.Bytes())
		case how == "refuse":
			_, err = fmt.Printf(`{"id":%d,"unsupported":true}`+"\n", req.ID)
		case how == "babble":
			_, err = fmt.Printf("Traceback: nonsense\n")
		case how == "flood":
			_, err = fmt.Fprintf(os.Stderr, "%s the end", strings.Repeat("words ", 1<<19))
			if err == nil {
				_, err = fmt.Fprintf(requests, "%s\n", lines.Bytes())
			}
		case how == "send":
			send(servers[0], strings.ReplaceAll(command, "{key}", key))
			_, err = fmt.Fprintf(requests, "%s\n", lines.Bytes())
		case how == "late":
			_, err = fmt.Printf("{\"late_ms\":%f}\n", lease/3)
			if err == nil {
				_, err = fmt.Fprintf(requests, "%s\n", lines.Bytes())
			}
		case how == "deaf":
			send(servers[0], "SET "+key+" deaf NX PX 1000")
			time.Sleep(time.Duration(req.WithinMS * float64(time.Millisecond)))
			_, err = fmt.Printf(`{"id":%d,"outcome":"no"}`+"\n", req.ID)
		case how == "stalled":
			time.Sleep(stalledFor)
			_, err = fmt.Printf("{\"late_ms\":%d}\n", stalledFor.Milliseconds())
			if err == nil {
				_, err = fmt.Fprintf(requests, "%s\n", lines.Bytes())
			}
		case how == "slow":
			time.Sleep(stalledFor)
			_, err = fmt.Fprintf(requests, "%s\n", lines.Bytes())
		case how == "ignore":
			_, err = io.Copy(io.Discard, os.Stdin)
		default:
			err = fmt.Errorf("the odd client dies at %s", req.Do)
		}
		if err != nil {
			return err
		}
	}
	return requests.Close()
}

// persistent is the output of a client whose library sends again what a connection has ended before.
type persistent struct{}

func (persistent) Write(line []byte) (int, error) {
	_, err := os.Stdout.Write(bytes.Replace(line, []byte(`"hello":{`), []byte(`"hello":{"resends":"connection",`), 1))
	return len(line), err
}

// send sends a command, and waits for the answer.
func send(addr, command string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Write(resp.AppendCommand(nil, strings.Fields(command)...)); err == nil {
		_, _ = bufio.NewReader(conn).ReadString('\n')
	}
}

// openWorld opens a world on embedded servers, unless change says otherwise. It also returns what closes the world, for those who cannot
// wait for the end of the test.
func openWorld(t *testing.T, change func(*live.Config)) (_ lab.Runner, close func() error) {
	t.Helper()
	cfg := live.Config{Dir: t.TempDir(), Guard: servertest.As("guard"), Worker: servertest.As("worker"), Host: servertest.As("host"), Server: live.Embedded, CellTimeout: time.Minute}
	if change != nil {
		change(&cfg)
	}
	world, err := live.Open(t.Context(), cfg)
	require.NoError(t, err)
	close = sync.OnceValue(world.Close)
	t.Cleanup(func() { require.NoError(t, close()) })
	return lab.Runner{World: world}, close
}

// subject is a lock that comes with the lab.
func subject(t *testing.T, lock string) play.Subject {
	t.Helper()
	spec, ok := impls.Find(lock)
	require.True(t, ok, lock)
	return play.SubjectOf(spec)
}

// foreign is a client that the lab knows nothing about.
func foreign(lock, quirk string) play.Subject {
	return play.Subject{Name: lock, Argv: servertest.As("odd " + quirk)}
}

// script parses a text without the title.
func script(t *testing.T, name, text string) *scenarios.Script {
	t.Helper()
	parsed, err := scenarios.Parse(strings.ReplaceAll(name, " ", "-")+".lab", []byte("# A test.\n"+text))
	require.NoError(t, err)
	return parsed
}

// builtin is a script that comes with the lab.
func builtin(t *testing.T, name string) *scenarios.Script {
	t.Helper()
	all, err := scenarios.Builtin()
	require.NoError(t, err)
	found, ok := scenarios.Find(all, name)
	require.True(t, ok, name)
	return found
}

// stage is a world whose histories can be read.
type stage struct {
	lab.Runner
	dir   string
	close func() error
}

func openStage(t *testing.T, change func(*live.Config)) *stage {
	t.Helper()
	s := &stage{}
	s.Runner, s.close = openWorld(t, func(cfg *live.Config) {
		if change != nil {
			change(cfg)
		}
		s.dir = cfg.Dir
	})
	return s
}

// play runs a cell and reads its history back from the file.
func (s *stage) playScript(t *testing.T, script *scenarios.Script, subject play.Subject) (record.Cell, []history.Event) {
	t.Helper()
	cell := s.Run(t.Context(), lab.Case{Subject: subject, Script: script, Round: 1})
	require.Empty(t, cell.Failure)
	return cell, s.history(t, cell)
}

func (s *stage) history(t *testing.T, cell record.Cell) []history.Event {
	t.Helper()
	file, err := history.ReadFile(t.Context(), filepath.Join(s.dir, cell.Dir, play.HistoryFile))
	require.NoError(t, err)
	require.False(t, file.Truncated)
	return file.Events
}
