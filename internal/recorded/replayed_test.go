package recorded

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/scenarios"
)

// monitorOf is what MONITOR would have printed of a history: the commands that reached the server, and those of scripts as far as the states around them show. It is whole unless a
// fault has changed what the server has.
func monitorOf(events []history.Event) (text string, whole bool) {
	var b strings.Builder
	line := func(at time.Duration, conn string, args ...string) {
		fmt.Fprintf(&b, "%d.%06d [0 %s]", 1000+at/time.Second, at%time.Second/time.Microsecond, conn)
		for _, arg := range args {
			fmt.Fprintf(&b, " %q", arg)
		}
		b.WriteString("\n")
	}
	for i := range events {
		e := &events[i]
		if f := e.Fault(); f != nil && faults.Kind(f.Name).Changes() {
			return "", false
		}
		c := e.Command()
		if c == nil || c.Server == history.Resource || c.Failed() {
			continue
		}
		if c.Server != "redis" { // MONITOR shows one server
			return "", false
		}
		line(e.At, e.Client, c.Args...)
		for _, change := range c.Changes {
			if !runsScript(c.Args) {
				break
			}
			switch change.Effect(c.Asked) {
			case history.EffectRemoved:
				line(e.At, "lua", "del", change.Key)
			case history.EffectProlonged, history.EffectShortened:
				line(e.At, "lua", "pexpire", change.Key, fmt.Sprint(change.After.TTL.Milliseconds()))
			}
		}
	}
	return b.String(), true
}

// logOf is what the clients of a history would have logged.
func logOf(t *testing.T, events []history.Event) string {
	t.Helper()
	var b strings.Builder
	for i := range events {
		e := &events[i]
		line := map[string]any{"time": time.Unix(1000, 0).Add(e.At).UTC().Format(time.RFC3339Nano), "client": e.Client, "lock": e.Lock, "event": e.Kind.String()}
		switch e.Kind {
		case history.KindCall, history.KindReturn:
			if e.Op == history.OpWork {
				continue
			}
			line["op"] = e.Op.String()
			if e.Kind == history.KindReturn {
				line["outcome"], line["fence"] = e.Outcome.String(), e.Fence
			}
			if e.Valid != 0 {
				line["valid_ms"] = e.Valid.Seconds() * 1000
			}
		case history.KindLost, history.KindExit:
		default:
			continue
		}
		text, err := json.Marshal(line)
		require.NoError(t, err)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// What is found in the commands alone is what the run's own judges found, who also had replies, states and answers: nobody is accused who is not there, and all wrongful deletes are
// found.
func TestMonitorAgreesWithRuns(t *testing.T) {
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	var locks []impls.Spec
	names := []string{"setpx-del", "redlock", "setpx-lua", "watchdog", "setpx-getdel", "fenced"}
	for _, name := range names[:needs.Count(t, "locks", 2, len(names))] {
		lock, ok := impls.Find(name)
		require.True(t, ok, name)
		locks = append(locks, lock)
	}
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	run, err := lab.Run(t.Context(), lab.Plan{
		Cases:   lab.Cases(scripts, lab.Subjects(locks...), 1, lab.Expect(matrix)),
		Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")}},
	})
	require.NoError(t, err)
	histories := lab.HistoriesOf(run)
	defer histories.Close()
	judged, found, doubles := 0, 0, 0
	for _, cell := range run.Cells {
		if cell.Verdict.Kind == checker.NotApplicable {
			continue
		}
		events, err := histories.Read(cell)
		require.NoError(t, err)
		if log := logOf(t, events); log != "" {
			j, err := Log(strings.NewReader(log), cell.Lock+"/"+cell.Scenario, Options{})
			require.NoError(t, err)
			for _, f := range j.Found {
				doubles++
				assert.Contains(t, cell.Verdict.Names(), f.Name, "%s/%s: found in the log only: %+v\n%s", cell.Lock, cell.Scenario, f, log)
			}
		}
		text, whole := monitorOf(events)
		if !whole || text == "" {
			continue
		}
		j, err := Monitor(strings.NewReader(text), cell.Lock+"/"+cell.Scenario, Options{})
		require.NoError(t, err)
		judged++
		for _, name := range j.LookedFor {
			there := slices.ContainsFunc(j.Found, func(f Finding) bool { return f.Name == name })
			should := slices.Contains(cell.Verdict.Names(), name)
			assert.False(t, there && !should, "%s/%s: %s is found in the recording only: %+v\n%s", cell.Lock, cell.Scenario, name, j.Found, text)
			assert.False(t, should && !there && name == checker.WrongfulDelete, "%s/%s: %s is not found: %+v\n%s", cell.Lock, cell.Scenario, name, cell.Verdict.Anomalies, text)
			if there {
				found++
			}
		}
	}
	assert.Greater(t, judged, 17*len(locks))
	assert.Greater(t, found, 10)
	assert.Greater(t, doubles, 10)
}
