package lab

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// copied is a cell of a merged run, with the part that has its files.
type copied struct {
	record.Cell
	part int
}

// copyCells copies what parts have kept of their cells into the merged run, packed like those of any run, and the logs of servers.
func copyCells(ctx context.Context, runs []*record.Run, run *record.Run) (err error) {
	var cells []copied
	from := make([]*Histories, len(runs))
	for i, part := range runs {
		from[i] = HistoriesOf(part)
		defer func() { err = errors.Join(err, from[i].Close()) }()
		for _, cell := range part.Cells {
			cells = append(cells, copied{cell, i})
		}
		if err := copyLogs(part.Dir, run.Dir, part.Part.Index); err != nil {
			return err
		}
	}
	slices.SortStableFunc(cells, func(a, b copied) int { return cmp.Compare(groupOf(a.Cell), groupOf(b.Cell)) })
	packer := newPacker(run)
	for i, cell := range cells {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := packer.take(cell.Cell, from[cell.part], runs[cell.part]); err != nil {
			return err
		}
		if i+1 == len(cells) || groupOf(cells[i+1].Cell) != groupOf(cell.Cell) {
			if err := packer.closeGroup(groupOf(cell.Cell)); err != nil {
				return err
			}
		}
	}
	return packer.close()
}

// take copies the files of a cell from another run.
func (p *packer) take(cell record.Cell, from *Histories, of *record.Run) error {
	found := false
	err := from.each(cell, func(name string, r io.Reader) error {
		found = found || path.Base(name) == play.HistoryFile
		if p.packs(cell) {
			return p.put(name, r)
		}
		return writeNew(filepath.Join(p.dir, filepath.FromSlash(name)), r)
	})
	if err == nil && !found && of.Finished && cell.Failure == "" {
		err = &NoRunError{of.Dir, fmt.Errorf("%s: the history of %s/%s is missing; restore it, or run the part again", of.Dir, cell.Lock, cell.Scenario)}
	}
	if err != nil || p.packs(cell) {
		return err
	}
	return copyLinks(filepath.Join(of.Dir, cell.Dir), filepath.Join(p.dir, cell.Dir), of.Part.Index)
}

// each calls use with every file that was kept of a cell, by its name below the run's directory.
func (h *Histories) each(cell record.Cell, use func(name string, r io.Reader) error) error {
	dir := filepath.Join(h.run.Dir, cell.Dir)
	entries, err := os.ReadDir(dir)
	if err == nil {
		return h.eachFile(cell, entries, use)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return h.eachPacked(cell, use)
}

// eachFile is each for a cell with a directory.
func (h *Histories) eachFile(cell record.Cell, entries []fs.DirEntry, use func(name string, r io.Reader) error) error {
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		file, err := os.Open(filepath.Join(h.run.Dir, cell.Dir, entry.Name()))
		if err != nil {
			return err
		}
		if err := errors.Join(use(path.Join(filepath.ToSlash(cell.Dir), entry.Name()), file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// eachPacked is each for a cell that was packed. A pack that cannot be read is a *NoRunError.
func (h *Histories) eachPacked(cell record.Cell, use func(name string, r io.Reader) error) error {
	if err := h.open(); err != nil || h.pack == nil {
		return h.unreadable(err)
	}
	dir := filepath.ToSlash(cell.Dir)
	for _, entry := range h.pack.File {
		if path.Dir(entry.Name) != dir || path.Base(entry.Name) == groupFile {
			continue
		}
		if err := h.useEntry(entry, use); err != nil {
			return err
		}
	}
	text, found, err := h.textOf(cell)
	if err != nil || !found {
		return h.unreadable(err)
	}
	return use(path.Join(dir, play.HistoryFile), bytes.NewReader(text))
}

func (h *Histories) useEntry(entry *zip.File, use func(name string, r io.Reader) error) error {
	name := filepath.Join(h.run.Dir, PackFile) + ":" + entry.Name
	if entry.UncompressedSize64 > history.MaxFile { // no more than this is unpacked
		return h.unreadable(fmt.Errorf("%s: longer than %d bytes", name, int64(history.MaxFile)))
	}
	packed, err := entry.Open()
	if err != nil {
		return h.unreadable(fmt.Errorf("%s: %w", name, err))
	}
	from := &source{Reader: packed}
	err = closed(packed, use(entry.Name, from))
	if from.err != nil {
		return h.unreadable(fmt.Errorf("%s: %w", name, from.err))
	}
	return err
}

// unreadable says that the run cannot be read, if there is an error.
func (h *Histories) unreadable(err error) error {
	if err == nil {
		return nil
	}
	return &NoRunError{h.run.Dir, fmt.Errorf("%w; restore the file, or run the part again", err)}
}

// source tells errors of what is read from those of where it is written to.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (n int, err error) {
	if n, err = s.Reader.Read(p); err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// copyLogs copies the logs of a part's servers. Each part has a directory for them, because their names count the servers of a part.
func copyLogs(from, to string, part int) error {
	entries, err := os.ReadDir(filepath.Join(from, servers))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := 0; err == nil && i < len(entries); i++ {
		if !entries[i].Type().IsRegular() {
			continue
		}
		var log *os.File
		if log, err = os.Open(filepath.Join(from, servers, entries[i].Name())); err == nil {
			err = errors.Join(writeNew(filepath.Join(to, servers, strconv.Itoa(part), entries[i].Name()), log), log.Close())
		}
	}
	return err
}

// copyLinks has a cell's links to logs of its servers point to where these are now.
func copyLinks(from, to string, part int) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was packed, without its links
	}
	for i := 0; err == nil && i < len(entries); i++ {
		target, unread := os.Readlink(filepath.Join(from, entries[i].Name()))
		if unread != nil {
			continue // no link
		}
		dir, log := filepath.Split(target)
		if path.Base(filepath.ToSlash(filepath.Clean(dir))) != servers || strings.Contains(log, "..") {
			continue
		}
		err = os.Symlink(filepath.Join(dir, strconv.Itoa(part), log), filepath.Join(to, entries[i].Name()))
	}
	return err
}

// writeNew writes a file that is not there yet.
func writeNew(name string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
