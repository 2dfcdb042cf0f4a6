package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/web"
	"github.com/locklab/locklab/internal/report/web/encode"
	"github.com/locklab/locklab/internal/timeline"
)

// A storm is too long to be gone through from its beginning. The page has it as a timeline, and its events in pieces: a reader unpacks those around the
// place that he looks at.

const (
	// stormEvents bounds what a page has of the events of all storms; each needs some 40 bytes.
	stormEvents = 160_000
	// pieceEvents is how many events a piece has.
	pieceEvents = 500
)

// pageStorm is a storm over time. Times are tenths of a millisecond.
type pageStorm struct {
	Length int64 `json:"length"`
	Events int   `json:"events"` // of the whole history
	Kept   int   `json:"kept"`   // that are not tries in vain
	// Clients are all of them, in the order of their lanes.
	Clients []string `json:"clients"`
	// Operations are those that were answered, three numbers each: since the answer before, how long it took, and four times the operation plus its outcome.
	Operations []int64      `json:"ops"`
	Faults     []stormFault `json:"faults"`
	Notes      []stormNote  `json:"notes"`
	// Seen are the anomalies, those included that are no symptoms of the cell; empty if all are.
	Seen []record.Seen `json:"seen,omitempty"`
	// Pieces are [first event, its time, 1 if the page has it].
	Pieces [][3]int64 `json:"pieces"`
}

type stormFault struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Awaits bool   `json:"awaits,omitempty"` // it was not seen to take effect
}

// stormNote is what the lab wrote down of the storm itself: that all faults have ended.
type stormNote struct {
	At   int64  `json:"at"`
	Text string `json:"text"`
}

func tenths(d time.Duration) int64 { return int64(d / (100 * time.Microsecond)) }

// pagePiece is a piece of a storm's history, packed.
type pagePiece struct {
	number int
	text   string
}

// newPageStorm is the storm of a cell, and its pieces, in which there is room for so many events.
func newPageStorm(c record.Cell, t *diagram.Chart, room int) (*pageStorm, []pagePiece, error) {
	keep := telling(t, c.Verdict.Anomalies)
	s := &pageStorm{Length: tenths(t.Events[len(t.Events)-1].At), Events: len(t.Events), Clients: t.All.Clients, Seen: c.Storm.Seen}
	s.operations(t)
	s.faults(t)
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == history.KindStep && e.Detail != nil {
			s.Notes = append(s.Notes, stormNote{tenths(e.At), format.Clean(e.Detail.Text)})
		}
	}
	pieces := piecesOf(t, keep)
	has := chosen(pieces, c.Verdict.Anomalies, max(1, room/pieceEvents))
	whole := encode.NewHistory(t.All, keep)
	var packed []pagePiece
	for k, piece := range pieces {
		s.Pieces = append(s.Pieces, [3]int64{int64(piece.From), tenths(t.Events[piece.From].At), int64(btoi(has[k]))})
		if !has[k] {
			continue
		}
		text, err := web.Pack(whole.Append(nil, piece))
		if err != nil {
			return nil, nil, err
		}
		packed = append(packed, pagePiece{k, text})
	}
	for _, on := range keep {
		s.Kept += btoi(on)
	}
	return s, packed, nil
}

func btoi(on bool) int {
	if on {
		return 1
	}
	return 0
}

// operations are in the order of their answers.
func (s *pageStorm) operations(t *diagram.Chart) {
	done := slices.Clone(t.All.Operations)
	done = slices.DeleteFunc(done, func(o timeline.OperationSpan) bool { return !answered(t, &o) })
	slices.SortStableFunc(done, func(a, b timeline.OperationSpan) int { return cmp.Compare(a.To, b.To) })
	at := int64(0)
	for i := range done {
		o := &done[i]
		ended := tenths(o.Ended)
		s.Operations = append(s.Operations, ended-at, tenths(o.Ended-o.Began), int64(o.Op)<<2|int64(o.Outcome))
		at = ended
	}
}

// answered says whether an operation returned, rather than ended with its client.
func answered(t *diagram.Chart, o *timeline.OperationSpan) bool {
	return !o.Open && t.Events[int(o.To)].Kind == history.KindReturn
}

// faults end with their target: another process takes the place of a client that has crashed.
func (s *pageStorm) faults(t *diagram.Chart) {
	exits := map[string]int64{}
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == history.KindExit {
			exits[e.Client] = tenths(e.At)
		}
	}
	for i := range t.All.Faults {
		f := &t.All.Faults[i]
		if f.RightsClock() {
			continue
		}
		to := tenths(f.Ended)
		if f.Open {
			if to = s.Length; exits[f.Target] > 0 {
				to = max(tenths(f.Began), exits[f.Target])
			}
		}
		s.Faults = append(s.Faults, stormFault{string(f.Kind), format.Clean(f.Target), tenths(f.Began), to, f.Effective < 0 && f.Injected >= 0})
	}
	slices.SortStableFunc(s.Faults, func(a, b stormFault) int { return cmp.Compare(a.From, b.From) })
}

// telling leaves out what a reader learns nothing from, which is most of a storm: acquires that were refused and changed nothing, and what a waiting client
// asks again and again. What shows an anomaly stays.
func telling(t *diagram.Chart, anomalies []checker.Anomaly) []bool {
	keep := slices.Repeat([]bool{true}, len(t.Events))
	shows := diagram.ShownBy(anomalies)
	for i := range t.All.Operations {
		o := &t.All.Operations[i]
		if o.Op != history.OpAcquire {
			continue
		}
		telling := func(i int) bool { return t.Notes[i] != "" || len(shows[i]) > 0 }
		if answered(t, o) && o.Outcome == history.No && !telling(int(o.From)) && !telling(int(o.To)) && !slices.ContainsFunc(o.Commands, telling) {
			keep[int(o.From)], keep[int(o.To)] = false, false
			for _, i := range o.Commands {
				keep[i] = false
			}
			continue
		}
		before := map[string]*history.Command{} // by server and name
		for _, i := range o.Commands {
			c := t.Events[i].Command()
			asked := c.Server + " " + strings.Join(c.Args[:min(1, len(c.Args))], " ")
			if telling(i) {
				clear(before)
			} else if last := before[asked]; last != nil && last.Reply == c.Reply && last.Late == c.Late && last.ReplyDropped == c.ReplyDropped {
				keep[i] = false
			}
			before[asked] = c
		}
	}
	return keep
}

// piecesOf splits the events that are kept, and says what must be known where each begins: what each client is doing, and the commands that gave the keys the
// time that they have left.
func piecesOf(t *diagram.Chart, keep []bool) []encode.Piece {
	var pieces []encode.Piece
	known := map[string]int{} // the latest event that says so
	var room history.Room
	kept := 0
	for i := range t.Events {
		if kept%pieceEvents == 0 && keep[i] || len(pieces) == 0 {
			if len(pieces) > 0 {
				pieces[len(pieces)-1].To = i
			}
			pieces = append(pieces, encode.Piece{From: i, Before: slices.Compact(slices.Sorted(maps.Values(known)))})
		}
		if !keep[i] {
			continue
		}
		kept++
		e := &t.Events[i]
		switch e.Kind {
		case history.KindCall:
			known[e.Client] = i
		case history.KindReturn, history.KindExit:
			delete(known, e.Client)
		case history.KindCommand:
			c := e.CommandIn(&room)
			if c == nil {
				break
			}
			for _, change := range c.Changes {
				if key := c.Server + " " + change.Key; change.After.Exists() {
					known[key] = i
				} else {
					delete(known, key)
				}
			}
		}
	}
	pieces[len(pieces)-1].To = len(t.Events)
	return pieces
}

// chosen says which pieces have room in a page: those that show an anomaly, those beside them, then the first.
func chosen(pieces []encode.Piece, anomalies []checker.Anomaly, room int) []bool {
	has := make([]bool, len(pieces))
	take := func(k int) {
		if k >= 0 && k < len(has) && !has[k] && room > 0 {
			has[k] = true
			room--
		}
	}
	for _, beside := range []int{0, 1} {
		for _, a := range anomalies {
			for _, event := range a.Events {
				k, _ := slices.BinarySearchFunc(pieces, event, func(p encode.Piece, event int) int { return cmp.Compare(p.To, event+1) })
				take(k - beside)
				take(k + beside)
			}
		}
	}
	for k := range has {
		take(k)
	}
	return has
}
