package lab

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// PackFile is where, in the directory of a run of many cells, the directories of those cells are packed that came out as expected.
const PackFile = "histories.zip"

// manyCells is from how many cells on a run is packed. The history of a cell has some 20 kB, and packed a tenth of that.
const manyCells = 100

// HistoryPath is where the history of a cell lies, unless it is packed.
func HistoryPath(run *record.Run, cell record.Cell) string {
	return filepath.Join(run.Dir, cell.Dir, play.HistoryFile)
}

// Histories reads the histories of a saved run. It may be used by several goroutines at once.
type Histories struct {
	run *record.Run

	mu     sync.Mutex      // of what follows; histories are decoded outside it
	pack   *zip.ReadCloser // nil: not opened, or there is none
	opened bool
	group  group // the one that was read last: cells are read in their order
}

// HistoriesOf are the histories of a run. Whoever has read them calls Close.
func HistoriesOf(run *record.Run) *Histories { return &Histories{run: run} }

// Read reads the history of a cell. The error is fs.ErrNotExist if the cell was not begun.
func (h *Histories) Read(cell record.Cell) ([]history.Event, error) {
	file, err := h.read(context.Background(), cell)
	if err != nil {
		return nil, err
	}
	return file.Events, nil
}

// read is Read, with the header. When ctx ends, the error is its cause.
func (h *Histories) read(ctx context.Context, cell record.Cell) (*history.File, error) {
	file, err := history.ReadFile(ctx, HistoryPath(h.run, cell))
	if errors.Is(err, fs.ErrNotExist) {
		if packed, found, perr := h.packed(ctx, cell); found || perr != nil {
			file, err = packed, perr
		}
	}
	return file, err
}

func (h *Histories) packed(ctx context.Context, cell record.Cell) (file *history.File, found bool, err error) {
	name := filepath.Join(h.run.Dir, PackFile)
	if err := h.open(); err != nil || h.pack == nil {
		return nil, false, err
	}
	entry := path.Join(filepath.ToSlash(cell.Dir), play.HistoryFile)
	packed, err := h.pack.Open(entry)
	if errors.Is(err, fs.ErrNotExist) {
		return h.grouped(ctx, cell)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	file, err = history.Read(ctx, packed, name+":"+entry)
	return file, true, closed(packed, err)
}

// closed closes an entry that was read. If that failed, closing says the same again.
func closed(entry io.Closer, reading error) error {
	err := entry.Close()
	if reading != nil {
		return reading
	}
	return err
}

// open opens the pack, if there is one, once.
func (h *Histories) open() (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened {
		return nil
	}
	h.opened = true
	name := filepath.Join(h.run.Dir, PackFile)
	if h.pack, err = openPack(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

var errNotRegular = errors.New("not a regular file; remove it, or restore that of the run")

// openPack opens a pack, which must be a regular file: to open a pipe may take for ever.
func openPack(name string) (*zip.ReadCloser, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, err
	}
	return zip.OpenReader(name)
}

// Where is the file in the run's directory that has the history of a cell; empty if it was not kept.
func (h *Histories) Where(cell record.Cell) string {
	for _, name := range []string{path.Join(filepath.ToSlash(cell.Dir), play.HistoryFile), PackFile} {
		if _, err := os.Stat(filepath.Join(h.run.Dir, filepath.FromSlash(name))); err == nil {
			return name
		}
	}
	return ""
}

// Close releases what was opened.
func (h *Histories) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pack == nil {
		return nil
	}
	return h.pack.Close()
}

// packer keeps the histories of a run's cells: in files, or, of a run of many cells, packed as far as they came out as expected.
type packer struct {
	dir    string
	runID  string
	packed bool

	mu    sync.Mutex
	file  *os.File // nil: nothing has been packed yet
	zip   *zip.Writer
	group bytes.Buffer // histories of the scenario that is being packed
}

func newPacker(run *record.Run) *packer {
	return &packer{dir: run.Dir, runID: filepath.Base(run.Dir), packed: len(run.Cells) >= manyCells}
}

// packs says whether a cell is packed: it is one of many, and nobody will look for it.
func (p *packer) packs(cell record.Cell) bool {
	return p.packed && !cell.Surprise() && cell.Failure == "" && cell.Verdict.Kind != checker.Undecided
}

// save keeps the history of a cell that was played by a world which writes nothing itself.
func (p *packer) save(cell record.Cell, header history.Header, events []history.Event) (err error) {
	header.Run, header.Cell = p.runID, filepath.Base(cell.Dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	var to io.Writer
	if p.packs(cell) {
		if to, err = p.entry(path.Join(filepath.ToSlash(cell.Dir), play.HistoryFile)); err != nil {
			return err
		}
	} else {
		dir := filepath.Join(p.dir, cell.Dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		file, err := os.Create(filepath.Join(dir, play.HistoryFile))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		to = file
	}
	out, err := history.NewWriter(to, header)
	for i := 0; err == nil && i < len(events); i++ {
		err = out.Write(events[i])
	}
	return err
}

// pack packs what a world has written of cells, and removes their directories once the pack is complete. Links to logs, which are the
// run's, go with them.
func (p *packer) pack(cells []record.Cell) error {
	var packed []string
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b record.Cell) int { return cmp.Compare(groupOf(a), groupOf(b)) })
	for i, cell := range cells {
		dir := filepath.Join(p.dir, cell.Dir)
		if _, err := os.Stat(dir); err == nil && p.packs(cell) {
			if err := filepath.WalkDir(dir, p.add); err != nil {
				return err
			}
			packed = append(packed, dir)
		}
		if i+1 == len(cells) || groupOf(cells[i+1]) != groupOf(cell) {
			if err := p.closeGroup(groupOf(cell)); err != nil {
				return err
			}
		}
	}
	if err := p.close(); err != nil {
		return err
	}
	var errs []error
	for _, dir := range packed {
		errs = append(errs, os.RemoveAll(dir))
		for up := filepath.Dir(dir); up != filepath.Clean(p.dir) && os.Remove(up) == nil; up = filepath.Dir(up) {
			// unless other cells of the scenario are there
		}
	}
	return errors.Join(errs...)
}

// add adds a file of a cell's directory.
func (p *packer) add(name string, d fs.DirEntry, err error) error {
	if err != nil || !d.Type().IsRegular() {
		return err
	}
	inPack, err := filepath.Rel(p.dir, name)
	if err != nil {
		return err
	}
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(p.put(filepath.ToSlash(inPack), from), from.Close())
}

// put packs a file: a history with those of its scenario, another by itself.
func (p *packer) put(name string, from io.Reader) (err error) {
	var to io.Writer = &p.group
	if path.Base(name) != play.HistoryFile {
		if to, err = p.entry(name); err != nil {
			return err
		}
	}
	_, err = io.Copy(to, from)
	return err
}

// part is added to the name of the pack until it is complete: a run that is killed leaves none that cannot be read.
const part = ".part"

// entry begins one more file of the pack.
func (p *packer) entry(name string) (_ io.Writer, err error) {
	if p.zip == nil {
		if p.file, err = os.Create(filepath.Join(p.dir, PackFile+part)); err != nil {
			return nil, err
		}
		deflate, err := flate.NewWriter(p.file, flate.BestCompression) // one for all entries: to make it takes as long as to pack a history
		if err != nil {
			return nil, err
		}
		p.zip = zip.NewWriter(p.file)
		p.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
			deflate.Reset(w)
			return deflate, nil
		})
	}
	return p.zip.Create(name)
}

// close completes the pack.
func (p *packer) close() error {
	if p.zip == nil {
		return nil
	}
	if err := errors.Join(p.zip.Close(), p.file.Close()); err != nil {
		return err
	}
	return os.Rename(filepath.Join(p.dir, PackFile+part), filepath.Join(p.dir, PackFile))
}
