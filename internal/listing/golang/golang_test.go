package golang_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/listing"
	"github.com/locklab/locklab/internal/listing/golang"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// traced notes which line of a lock sends which command.
type traced struct {
	impls.Env
	notes *notes
}

type notes struct {
	mu    sync.Mutex
	lines map[string]map[listing.Place]bool // by command
}

// note notes the innermost line of package impls that is running.
func (n *notes) note(command ...any) {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "github.com/locklab/locklab/impls.") {
			n.mu.Lock()
			defer n.mu.Unlock()
			key := signature(command)
			if n.lines[key] == nil {
				n.lines[key] = map[listing.Place]bool{}
			}
			n.lines[key][listing.Place{File: filepath.Base(f.File), Line: f.Line}] = true
			return
		}
		if !more {
			return
		}
	}
}

// signature is a command as it is told from others: all of it or, of a script, its arguments.
func signature[T any](command []T) string {
	var words []string
	for i, word := range command {
		if text := fmt.Sprint(word); i != 1 || fmt.Sprint(command[0]) != "EVAL" {
			words = append(words, text)
		}
	}
	return strings.Join(words, " ")
}

func (t traced) Server() impls.Server { return tracedServer{t.Env.Server(), t.notes} }
func (t traced) Servers() (list []impls.Server) {
	for _, s := range t.Env.Servers() {
		list = append(list, tracedServer{s, t.notes})
	}
	return list
}

func (t traced) Session() impls.Session {
	if s := t.Env.Session(); s != nil {
		return tracedSession{s, t.notes}
	}
	return nil
}

type tracedServer struct {
	impls.Server
	notes *notes
}

func (s tracedServer) Do(ctx context.Context, args ...any) (any, error) {
	s.notes.note(args...)
	return s.Server.Do(ctx, args...)
}

func (s tracedServer) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	rest := []any{len(keys)}
	for _, key := range keys {
		rest = append(rest, key)
	}
	rest = append(rest, args...)
	s.notes.note(slices.Concat([]any{"EVAL", script.Source}, rest)...)
	s.notes.note(slices.Concat([]any{"EVALSHA", script.SHA()}, rest)...)
	return s.Server.Eval(ctx, script, keys, args...)
}

func (s tracedServer) Watch(ctx context.Context, keys []string, fn func(tx impls.Tx) error) error {
	watch := []any{"WATCH"}
	for _, key := range keys {
		watch = append(watch, key)
	}
	s.notes.note(watch...)
	s.notes.note("UNWATCH")
	return s.Server.Watch(ctx, keys, func(tx impls.Tx) error { return fn(tracedTx{tx, s.notes}) })
}

func (s tracedServer) Subscribe(ctx context.Context, channel string) (impls.Subscription, error) {
	s.notes.note("SUBSCRIBE", channel)
	return s.Server.Subscribe(ctx, channel)
}

type tracedTx struct {
	impls.Tx
	notes *notes
}

func (t tracedTx) Do(ctx context.Context, args ...any) (any, error) {
	t.notes.note(args...)
	return t.Tx.Do(ctx, args...)
}

func (t tracedTx) Exec(ctx context.Context, commands ...impls.Command) ([]any, bool, error) {
	t.notes.note("MULTI")
	t.notes.note("EXEC")
	for _, command := range commands {
		t.notes.note(command...)
	}
	return t.Tx.Exec(ctx, commands...)
}

type tracedSession struct {
	impls.Session
	notes *notes
}

func (s tracedSession) Create(ctx context.Context, path string, sequential bool) (string, error) {
	s.notes.note("CREATE", path)
	return s.Session.Create(ctx, path, sequential)
}

func (s tracedSession) Children(ctx context.Context, path string) ([]string, error) {
	s.notes.note("GETCHILDREN", path)
	return s.Session.Children(ctx, path)
}

func (s tracedSession) Watch(ctx context.Context, path string) (bool, impls.Subscription, error) {
	s.notes.note("EXISTS", path)
	return s.Session.Watch(ctx, path)
}

func (s tracedSession) Delete(ctx context.Context, path string) error {
	s.notes.note("DELETE", path)
	return s.Session.Delete(ctx, path)
}

// ran says which lines sent a command; the history has it with more arguments, or clipped ones, in places.
func (n *notes) ran(args []string) map[listing.Place]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if lines := n.lines[signature(args)]; lines != nil {
		return lines
	}
	return n.lines[signature(args[:min(2, len(args))])] // a ZooKeeper's
}

// The line that a listing names is the one that ran: each lock is played with an Env that looks which of its lines is running.
func TestTheLineNamedIsTheOneThatRan(t *testing.T) {
	sources, err := golang.Read()
	require.NoError(t, err)
	few := []string{"take-turns", "pause-past-lease", "acquire-reply-lost"}
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	if needs.Count(t, "scenarios", len(few), len(scripts)) == len(few) {
		scripts, err = scenarios.Builtin(few...)
		require.NoError(t, err)
	}
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	notes := map[string]*notes{}
	listings := map[string]*listing.Listing{}
	var subjects []play.Subject
	for _, spec := range slices.Concat(impls.All(), impls.OnZooKeeper(), impls.OnReplicas()) {
		listings[spec.Name] = sources.Of(spec)
		require.NotNil(t, listings[spec.Name], spec.Name)
		subjects = append(subjects, play.SubjectOf(withNotes(spec, notes)))
	}
	dir := filepath.Join(t.TempDir(), "run")
	run, err := lab.Run(t.Context(), lab.Plan{Cases: lab.Cases(scripts, subjects, 1, lab.Expect(matrix)), Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: dir}}})
	require.NoError(t, err)
	histories := lab.HistoriesOf(run)
	defer histories.Close()
	placed, all := map[string]int{}, map[string]int{}
	for _, cell := range run.Cells {
		l := listings[cell.Lock]
		events, err := histories.Read(cell)
		if err != nil {
			continue // it was not played
		}
		for i := range events {
			c := events[i].Command()
			if c == nil {
				continue
			}
			ran, site := notes[cell.Lock].ran(c.Args), l.Site(&events[i], c)
			if len(ran) > 0 {
				all[cell.Lock]++
			}
			if site > 0 {
				placed[cell.Lock]++
				if !ran[l.Sites[site-1].Place] {
					t.Fatalf("%s in %s: %v %v is taken to be by %v, and was by %v", cell.Lock, cell.Scenario, events[i].Op, c.Args, l.Sites[site-1].Place, ran)
				}
			}
		}
	}
	for name, n := range all {
		least := .9
		if spec, _ := impls.Find(name); spec.Needs == impls.OneZooKeeper {
			least = .35 // they list and delete from more lines than one
		}
		assert.GreaterOrEqual(t, float64(placed[name])/float64(n), least, "of too many commands of %s the line is not known", name)
	}
}

func withNotes(spec impls.Spec, all map[string]*notes) impls.Spec {
	n := &notes{lines: map[string]map[listing.Place]bool{}}
	all[spec.Name] = n
	made := spec.New
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		if env == nil { // it is only looked at
			return made(nil, opts)
		}
		return made(traced{env, n}, opts)
	}
	return spec
}

// commandOf is an event with a command.
func commandOf(op history.Op, args ...string) (*history.Event, *history.Command) {
	return &history.Event{Kind: history.KindCommand, Op: op}, &history.Command{Args: args}
}

// line is a line of a place, without its indentation.
func line(s *golang.Sources, p listing.Place) string {
	return strings.TrimSpace(strings.Split(s.Text(p.File), "\n")[p.Line-1])
}

func TestSiteAndBug(t *testing.T) {
	sources, err := golang.Read()
	require.NoError(t, err)
	of := func(name string) *listing.Listing {
		spec, ok := impls.Find(name)
		require.True(t, ok, name)
		return sources.Of(spec)
	}
	getset := of("getset")
	for _, test := range []struct {
		op   history.Op
		args []string
		want string
	}{
		{history.OpAcquire, []string{"GET", "lock"}, `seen, found, err := value(server.Do(ctx, "GET", l.opts.Key))`},
		{history.OpRelease, []string{"GET", "lock"}, `seen, found, err := value(l.env.Server().Do(ctx, "GET", l.opts.Key))`},
		{history.OpRelease, []string{"DEL", "lock"}, `return applied(l.env.Server().Do(ctx, "DEL", l.opts.Key))`},
		{history.OpWork, []string{"GET", "lock"}, ""},
		{history.OpAcquire, []string{"GET"}, ""},
		{history.OpAcquire, []string{"INCR", "lock"}, ""},
		{history.OpNone, []string{"GET", "lock"}, ""}, // one of two
	} {
		got := ""
		if n := getset.Site(commandOf(test.op, test.args...)); n > 0 {
			got = line(sources, getset.Sites[n-1].Place)
		}
		assert.Equal(t, test.want, got, "%v", test.args)
	}
	assert.Equal(t, "func (l *getsetLock) TryAcquire(ctx context.Context) (bool, error) {", line(sources, getset.Begins[history.OpAcquire]))

	for name, want := range map[string]string{
		"setpx-del":                        "DEL",
		"getset":                           "takeOver",
		"watchdog-published/blind-renewal": "has(bugBlindRenewal)",
		"redlock-no-second-look":           "the time spent is not counted",
		"curator-mutex":                    "whether the node is still there is not asked",
	} {
		l := of(name)
		require.NotEmpty(t, l.Bugs, name)
		assert.True(t, slices.ContainsFunc(l.Bugs, func(b listing.Bug) bool { return strings.Contains(line(sources, b.Place), want) }), "%s: %v", name, l.Bugs)
	}
	assert.Len(t, of("watchdog-published/blind-renewal").Bugs, 1, "of one bug only")
	for _, sound := range []string{"setpx-lua", "redlock", "zookeeper-protected", "fenced", "watchdog"} {
		assert.Empty(t, of(sound).Bugs, sound)
	}
	for _, b := range of("redlock-endless").Bugs {
		assert.NotContains(t, line(sources, b.Place), "the bug", "it is that of another lock in the file")
	}
}

// A lock whose source is not the lab's has no listing.
func TestNoListingOfOthersLocks(t *testing.T) {
	sources, err := golang.Read()
	require.NoError(t, err)
	assert.Nil(t, sources.Of(impls.Spec{}))
	spec, _ := impls.Find("setpx-del")
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock { return nil }
	assert.Nil(t, sources.Of(spec))
}
