package lab

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// writeCell leaves what a world leaves of a cell: a history of so many steps, and another file.
func writeCell(t *testing.T, run *record.Run, cell record.Cell, steps int) {
	t.Helper()
	dir := filepath.Join(run.Dir, cell.Dir)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plan.txt"), []byte("a plan"), 0o600))
	file, err := os.Create(filepath.Join(dir, play.HistoryFile))
	require.NoError(t, err)
	out, err := history.NewWriter(file, history.Header{Cell: filepath.Base(cell.Dir)})
	require.NoError(t, err)
	for n := range steps {
		require.NoError(t, out.Write(history.Event{Kind: history.KindStep, Detail: &history.Detail{Line: n + 1}}))
	}
	require.NoError(t, file.Close())
}

// TestHistoriesOfAScenarioArePackedTogether: each is found again, as are those of packs in which each has an entry of its own.
func TestHistoriesOfAScenarioArePackedTogether(t *testing.T) {
	run := &record.Run{Dir: t.TempDir()}
	for _, dir := range []string{"s1/l1.1", "s2/l1.1", "s1/l2.1", "s1/lock/bug.1"} {
		cell := record.Cell{Dir: filepath.FromSlash(dir), Verdict: checker.Verdict{Kind: checker.Safe}}
		run.Cells = append(run.Cells, cell)
		writeCell(t, run, cell, len(run.Cells))
	}
	p := &packer{dir: run.Dir, packed: true}
	require.NoError(t, p.pack(run.Cells))
	left, err := os.ReadDir(run.Dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "the pack is all that is left")

	packed, err := zip.OpenReader(filepath.Join(run.Dir, PackFile))
	require.NoError(t, err)
	var names []string
	for _, entry := range packed.File {
		names = append(names, entry.Name)
	}
	require.NoError(t, packed.Close())
	require.ElementsMatch(t, []string{
		"s1/histories.jsonl", "s1/lock/histories.jsonl", "s2/histories.jsonl",
		"s1/l1.1/plan.txt", "s1/l2.1/plan.txt", "s1/lock/bug.1/plan.txt", "s2/l1.1/plan.txt",
	}, names)

	histories := HistoriesOf(run)
	for n, cell := range run.Cells {
		events, err := histories.Read(cell)
		require.NoError(t, err, cell.Dir)
		require.Len(t, events, n+1, cell.Dir)
	}
	for _, dir := range []string{"s1/l3.1", "s3/l1.1"} {
		_, err = histories.Read(record.Cell{Dir: dir})
		require.ErrorIs(t, err, os.ErrNotExist, dir)
	}
	require.NoError(t, histories.Close())
}

// TestDamagedGroup: the error names the pack, the entry and the cell.
func TestDamagedGroup(t *testing.T) {
	run := &record.Run{Dir: t.TempDir()}
	name := filepath.Join(run.Dir, PackFile)
	file, err := os.Create(name)
	require.NoError(t, err)
	w := zip.NewWriter(file)
	to, err := w.Create("s/histories.jsonl")
	require.NoError(t, err)
	_, err = to.Write([]byte(`{"locklab_history":1,"cell":"l.1"}` + "\n{}\n" + `{"locklab_history":1,"cell":"l.2"}` + "\n"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	histories := HistoriesOf(run)
	_, err = histories.Read(record.Cell{Dir: "s/l.1"})
	require.ErrorContains(t, err, name+`:s/histories.jsonl (l.1):2: no "kind"`)
	events, err := histories.Read(record.Cell{Dir: "s/l.2"})
	require.NoError(t, err)
	require.Empty(t, events)
	require.NoError(t, histories.Close())
}

// TestUnreadablePackIsNotCopied: lab merge refuses a pack that is damaged, or that would unpack to more than the lab reads, as a run that cannot be
// read. It is no failure of the lab.
func TestUnreadablePackIsNotCopied(t *testing.T) {
	for name, test := range map[string]struct {
		entry zip.FileHeader
		why   string
	}{
		"damaged":   {zip.FileHeader{Method: zip.Deflate, UncompressedSize64: 100}, "flate: corrupt input"},
		"too large": {zip.FileHeader{Method: zip.Deflate, UncompressedSize64: history.MaxFile + 1}, "longer than 1073741824 bytes"},
		"no pack":   {why: "not a valid zip file"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &record.Run{Dir: t.TempDir()}
			file, err := os.Create(filepath.Join(run.Dir, PackFile))
			require.NoError(t, err)
			if test.entry.Method == zip.Deflate {
				w := zip.NewWriter(file)
				text := []byte("\xff\xff\xff\xff")
				test.entry.Name, test.entry.CompressedSize64 = "s/l.1/"+play.HistoryFile, uint64(len(text))
				to, err := w.CreateRaw(&test.entry)
				require.NoError(t, err)
				_, err = to.Write(text)
				require.NoError(t, err)
				require.NoError(t, w.Close())
			}
			require.NoError(t, file.Close())
			histories := HistoriesOf(run)
			err = histories.each(record.Cell{Dir: filepath.Join("s", "l.1")}, func(_ string, r io.Reader) error {
				_, err := io.Copy(io.Discard, r)
				return err
			})
			var noRun *NoRunError
			require.ErrorAs(t, err, &noRun)
			require.ErrorContains(t, err, test.why)
			require.NotContains(t, err.Error(), "\n", "it is said once")
			require.NoError(t, histories.Close())
		})
	}
}
