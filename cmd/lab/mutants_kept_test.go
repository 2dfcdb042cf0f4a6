package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
)

// damagedPacks are packs of which bytes, or the histories within, are damaged.
func damagedPacks(t *testing.T) damage {
	runs := smallRuns(t)
	return func(t *testing.T, m mutator) ([]string, time.Duration) {
		r := pick(m, runs)
		_ = os.Remove(r.historyAt) // else it is read instead
		rel, err := filepath.Rel(r.dir, r.historyAt)
		require.NoError(t, err)
		entry, text := filepath.ToSlash(rel), r.history
		if m.IntN(2) == 0 { // with the histories of other cells
			entry = path.Join(path.Dir(path.Dir(entry)), "histories.jsonl")
			text = slices.Concat(pick(m, runs).history, text)
		}
		switch m.IntN(4) {
		case 0:
			text = m.history(text)
		case 1:
			entry = string(m.bytes([]byte(entry)))
		}
		packed := zipped(t, m, entry, text)
		if m.IntN(3) > 0 {
			packed = m.zip(packed)
		}
		put(t, filepath.Join(r.dir, lab.PackFile), packed)
		return r.reads(m), 0
	}
}

// zipped is a pack of one entry, which may be there twice, beside another one.
func zipped(t *testing.T, m mutator, entry string, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range []string{"plan.txt", entry, entry}[:2+m.IntN(2)] {
		to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: pick(m, []uint16{zip.Deflate, zip.Store})})
		require.NoError(t, err)
		if !strings.HasSuffix(name, "/") { // a directory has no content
			_, err = to.Write(text)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// zip damages a pack, mostly what it says of itself, which is at its end.
func (m mutator) zip(packed []byte) []byte {
	const directory = 220 // bytes, more or less
	if from := len(packed) - directory; from > 0 && m.IntN(2) == 0 {
		return slices.Concat(packed[:from], m.bytes(packed[from:]))
	}
	return m.bytes(packed)
}

// savedPart is a file of a part that lab merge reads.
type savedPart struct {
	path string
	text []byte
}

// damagedParts are parts of a run, or of a search for breaking points, of which one file is damaged.
func damagedParts(t *testing.T) damage {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	wholes := [][]string{
		{"run", "take-turns", "pause-past-lease", "--lock", "setpx-lua,setpx-del", "--world", "sim"},
		{"run", "take-turns", "--lock", "setpx-lua,setpx-del", "--count", "100", "--world", "sim"}, // whose parts are packed
		{"explore", "--all", "setnx-del", "local", "--quiet", "--limit", "states=100"},
	}
	parts, files := make([][]string, len(wholes)), make([][]savedPart, len(wholes))
	for i, args := range wholes {
		for _, shard := range []string{"1/2", "2/2"} {
			part := filepath.Join(dir, strconv.Itoa(i), shard)
			var said bytes.Buffer
			code := carryOut(t.Context(), slices.Concat(args, []string{"--shard", shard, "--out", part}), strings.NewReader(""), &said, &said)
			require.Zero(t, code, said.String())
			parts[i] = append(parts[i], part)
		}
		files[i] = readByMerge(t, filepath.Join(dir, strconv.Itoa(i)))
	}
	var last savedPart
	return func(t *testing.T, m mutator) ([]string, time.Duration) {
		if last.path != "" {
			put(t, last.path, last.text)
		}
		whole := m.IntN(len(wholes))
		last = pick(m, files[whole])
		damaged := m.bytes
		switch {
		case filepath.Ext(last.path) == ".zip":
			damaged = m.zip
		case m.IntN(4) == 0:
		case filepath.Ext(last.path) == ".json":
			damaged = m.json
		default:
			damaged = m.history
		}
		put(t, last.path, damaged(last.text))
		require.NoError(t, os.RemoveAll(out))
		return slices.Concat([]string{"merge"}, parts[whole], []string{"--out", out}), 0
	}
}

// readByMerge are the files below a directory that lab merge reads.
func readByMerge(t *testing.T, dir string) (files []savedPart) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".json", ".jsonl", ".zip"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		files = append(files, savedPart{path, text})
		return err
	}))
	require.NotEmpty(t, files)
	return files
}
