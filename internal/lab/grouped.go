package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// groupFile is the entry of a pack in which the histories of a scenario's cells follow one another, each with its header. They are much alike:
// together they take two thirds of the room, and each entry of its own takes 200 bytes besides.
const groupFile = "histories.jsonl"

// groupOf is the entry of a pack with the histories beside that of a cell.
func groupOf(cell record.Cell) string {
	return path.Join(path.Dir(filepath.ToSlash(cell.Dir)), groupFile)
}

// group is such an entry, by cell.
type group struct {
	entry string
	texts map[string][]byte
}

// grouped reads the history of a cell that is packed with those of its scenario.
func (h *Histories) grouped(ctx context.Context, cell record.Cell) (file *history.File, found bool, err error) {
	text, found, err := h.textOf(cell)
	if err != nil || !found {
		return nil, false, err
	}
	where := filepath.Join(h.run.Dir, PackFile) + ":" + groupOf(cell)
	file, err = history.Read(ctx, bytes.NewReader(text), where+" ("+groupName(cell)+")")
	return file, true, err
}

// groupName is the name of a cell among those of its scenario.
func groupName(cell record.Cell) string { return path.Base(filepath.ToSlash(cell.Dir)) }

// textOf is the history of a cell that is packed with those of its scenario, as written.
func (h *Histories) textOf(cell record.Cell) (text []byte, found bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	entry := groupOf(cell)
	if h.group.entry != entry {
		packed, err := h.pack.Open(entry)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		if err == nil {
			h.group.texts, err = together(packed)
			err = closed(packed, err)
		}
		h.group.entry = entry
		if err != nil {
			h.group = group{}
			return nil, false, fmt.Errorf("%s:%s: %w", filepath.Join(h.run.Dir, PackFile), entry, err)
		}
	}
	text, found = h.group.texts[groupName(cell)]
	return text, found, nil
}

// closeGroup packs the histories that have been gathered.
func (p *packer) closeGroup(entry string) error {
	if p.group.Len() == 0 {
		return nil
	}
	to, err := p.entry(entry)
	if err == nil {
		_, err = p.group.WriteTo(to)
	}
	return err
}
