package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/report/web"
)

// shelf has the runs that are shown.
type shelf struct {
	dir string

	mu    sync.Mutex
	named []string
	rows  map[string]known // by directory
}

// known is the row of a run, as long as its file is the same.
type known struct {
	written time.Time
	size    int64
	row     web.Row
}

// book is a run that is shown, under a name of its own.
type book struct{ name, dir string }

func (b book) link() string { return "/runs/" + url.PathEscape(b.name) + "/" }

// books are the runs, the newest first.
func (s *shelf) books() ([]book, error) {
	s.mu.Lock()
	dirs := slices.Clone(s.named)
	s.mu.Unlock()
	if len(dirs) == 0 {
		var err error
		if dirs, err = lab.SavedRuns(s.dir); err != nil {
			return nil, err
		}
	}
	var all []book
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real // runs/latest is one of the others
		}
		if !slices.ContainsFunc(all, func(b book) bool { return b.dir == dir }) {
			all = append(all, book{name: freeName(all, filepath.Base(dir)), dir: dir})
		}
	}
	return all, nil
}

// freeName is a name that no other run has.
func freeName(all []book, name string) string {
	taken := func(name string) bool { return slices.ContainsFunc(all, func(b book) bool { return b.name == name }) }
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s~%d", name, n)
	}
	return free
}

// add puts a run on the shelf that was made here, if it was begun.
func (s *shelf) add(dir string) (book, bool) {
	if _, err := os.Stat(filepath.Join(dir, rundir.RunFile)); err != nil {
		return book{}, false
	}
	s.mu.Lock()
	if len(s.named) > 0 {
		s.named = append([]string{dir}, s.named...)
	}
	s.mu.Unlock()
	return s.find(func(b book) bool { return same(b.dir, dir) })
}

// same says whether two paths are of one directory.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func (s *shelf) find(is func(book) bool) (book, bool) {
	books, err := s.books()
	if i := slices.IndexFunc(books, is); err == nil && i >= 0 {
		return books[i], true
	}
	return book{}, false
}

// row is a run in the list. What is no run, or none that can be read, says why.
func (s *shelf) row(b book) web.Row {
	info, err := os.Stat(filepath.Join(b.dir, rundir.RunFile))
	if err != nil {
		return web.Row{ID: b.name, Class: "unknown", Status: "cannot be read", Trouble: err.Error()}
	}
	s.mu.Lock()
	was, ok := s.rows[b.dir]
	s.mu.Unlock()
	if ok && was.written.Equal(info.ModTime()) && was.size == info.Size() {
		return was.row
	}
	run, err := read(b.dir)
	if err != nil {
		return web.Row{ID: b.name, Class: "unknown", Status: "cannot be read", Trouble: err.Error()}
	}
	row := page.RowOf(run)
	row.Link = b.link()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[string]known{}
	}
	s.rows[b.dir] = known{info.ModTime(), info.Size(), row}
	return row
}

// read reads a run, with those of its cells that have ended.
func read(dir string) (*record.Run, error) {
	run, err := lab.ReadRun(dir)
	if err != nil {
		return nil, err
	}
	run.Cells = slices.DeleteFunc(run.Cells, func(c record.Cell) bool { return c.Verdict.Kind == "" })
	return run, nil
}

// book is the run that a request names.
func (s *Server) book(r *http.Request) (book, bool) {
	return s.shelf.find(func(b book) bool { return b.name == r.PathValue("run") })
}

// page is the page of a run. It is made anew: the file report.html may be missing, may be by another lab, or may be by anybody.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	b, ok := s.book(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	text, err := pageOf(b.dir)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	writeHTML(w, text, "")
}

func pageOf(dir string) ([]byte, error) {
	run, err := read(dir)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = lab.WritePage(&page, run, "/")
	return page.Bytes(), err
}

// file is one of a run's files, to be read and never to be carried out.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	b, ok := s.book(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	file, err := openWithin(b.dir, filepath.FromSlash(r.PathValue("file")))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	kind := "text/plain; charset=utf-8"
	if path.Ext(r.URL.Path) == ".zip" {
		kind = "application/zip"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	_, _ = io.Copy(w, file) // whoever asked may have gone
}

// openWithin opens a regular file of a directory: none to which a link leads out of it.
func openWithin(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, os.ErrNotExist)
	}
	return root.Open(name)
}
