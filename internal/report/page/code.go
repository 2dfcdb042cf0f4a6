package page

import (
	"encoding/json"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/listing"
	"github.com/locklab/locklab/internal/record"
)

// pageCode is the source of a lock as the viewer shows it. Lines are [file, line], where the file is its number in Files.
type pageCode struct {
	Files  []string          `json:"files"`
	Parts  [][3]int          `json:"parts"`  // [file, first line, last line]
	Begins map[string][2]int `json:"begins"` // where each operation begins
	Sites  [][2]int          `json:"sites"`  // from 1, in the histories
	Bugs   []pageBug         `json:"bugs,omitempty"`
}

type pageBug struct {
	At   [2]int `json:"at"`
	What string `json:"what,omitempty"`
}

// pageSources are the sources of a page's locks. Locks from elsewhere have none.
type pageSources struct {
	all      listing.Sources             // nil: there are none
	listings map[string]*listing.Listing // by lock
	texts    map[string]string           // of the files that are shown
}

func newPageSources(all listing.Sources, cells []record.Cell) *pageSources {
	s := &pageSources{all: all, listings: map[string]*listing.Listing{}, texts: map[string]string{}}
	for _, c := range cells {
		if _, seen := s.listings[c.Lock]; seen || all == nil {
			continue
		}
		s.listings[c.Lock] = nil
		if spec, known := impls.Find(c.Lock); known {
			s.listings[c.Lock] = all.Of(spec)
		}
	}
	return s
}

// codeOf is the source of a lock; nil: it is not known.
func (s *pageSources) codeOf(lock string) *pageCode {
	l := s.listings[lock]
	if l == nil {
		return nil
	}
	out, files := &pageCode{Begins: map[string][2]int{}}, map[string]int{}
	at := func(p listing.Place) [2]int {
		n, known := files[p.File]
		if !known {
			n = len(files)
			files[p.File], out.Files = n, append(out.Files, p.File)
			s.texts[p.File] = s.all.Text(p.File)
		}
		return [2]int{n, p.Line}
	}
	for _, p := range l.Parts {
		from := at(listing.Place{File: p.File, Line: p.From})
		out.Parts = append(out.Parts, [3]int{from[0], p.From, p.To})
	}
	for op, p := range l.Begins {
		out.Begins[op.String()] = at(p)
	}
	for _, p := range l.Sites {
		out.Sites = append(out.Sites, at(p.Place))
	}
	for _, b := range l.Bugs {
		out.Bugs = append(out.Bugs, pageBug{at(b.Place), b.What})
	}
	return out
}

// sites are the lines that sent the commands of a history, as far as they are kept; see listing.Site.
func (s *pageSources) sites(lock string, events []history.Event, kept []bool) (list []int) {
	l := s.listings[lock]
	if l == nil {
		return nil
	}
	var room history.Room
	for i := range events {
		if c := events[i].CommandIn(&room); c != nil && kept[i] {
			list = append(list, l.Site(&events[i], c))
		}
	}
	return list
}

// text are the files that are shown, as JSON.
func (s *pageSources) text() ([]byte, error) { return json.Marshal(s.texts) }
