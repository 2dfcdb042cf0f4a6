package sim_test

import (
	"bufio"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
)

var update = flag.Bool("update", false, "rewrite testdata/histories.sum, for review")

// areFrozen compares every history of a run in the model with the hash that was recorded for it. The hash covers all
// that a judgement rests on: times, operations, commands with the states around them, faults. It leaves out wording.
func areFrozen(t *testing.T, run *record.Run, histories *lab.Histories) {
	t.Helper()
	path := filepath.Join("testdata", "histories.sum")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(sums(t, run, histories)), 0o644))
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want := slices.Collect(strings.Lines(string(text)))
	if !needs.Full() {
		want = slices.DeleteFunc(want, func(line string) bool {
			return !slices.ContainsFunc(run.Cells, func(cell record.Cell) bool { return strings.HasSuffix(line, " "+cell.Lock+"/"+cell.Scenario+"\n") })
		})
	}
	assert.Equal(t, want, slices.Collect(strings.Lines(sums(t, run, histories))))
}

// sums has a line for each cell: its hash, lock and scenario.
func sums(t *testing.T, run *record.Run, histories *lab.Histories) string {
	t.Helper()
	var lines strings.Builder
	for _, cell := range run.Cells {
		events, err := histories.Read(cell)
		require.NoError(t, err)
		hash := fnv.New64a()
		w := bufio.NewWriter(hash)
		for i := range events {
			frozen(w, events[i])
		}
		require.NoError(t, w.Flush())
		fmt.Fprintf(&lines, "%016x %s/%s\n", hash.Sum64(), cell.Lock, cell.Scenario)
	}
	return lines.String()
}

// frozen writes what must not change of an event.
func frozen(w io.Writer, e history.Event) {
	fmt.Fprintln(w, e.At, e.ID, e.Client, e.Lock, e.Valid, e.Fence, uint8(e.Kind), uint8(e.Op), uint8(e.Outcome))
	command := e.Command()
	if e.Detail == nil && command == nil {
		return
	}
	var d history.Detail
	if e.Detail != nil {
		d = *e.Detail
	}
	fmt.Fprintln(w, d.Lease, d.Leaseless, d.Servers, d.Unseen == history.Local, d.Reentrant, d.Fair, d.GaveUp, d.Bound, d.Read, d.Wrote, d.Value, d.Error != "")
	if e.Kind == history.KindEnd {
		fmt.Fprintln(w, d.Text)
	}
	if d.Fault != nil {
		fmt.Fprintln(w, d.Fault.Name, d.Fault.Target, d.Fault.Phase)
	}
	if command != nil {
		fmt.Fprintf(w, "%+v\n", *command)
	}
	if d.Work != nil {
		fmt.Fprintf(w, "%+v\n", *d.Work)
	}
}
