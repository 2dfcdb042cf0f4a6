package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// chart is a timeline laid out in lanes, one for each client and each server.
type chart struct {
	all              *timeline.Timeline
	events           []history.Event
	clients, servers []string
	holds            []span // lane: client
	faults           []span // lane: client
	moments          []moment
	notes            map[int]string // by event: what a command did to the keys
	lapsed           map[int]bool   // events between which and the one before is a moment
}

// span is something that lasts, in its lane.
type span struct {
	timeline.Span
	Lane  string
	Label string
}

// moment is something that happened without an event: time ran out.
type moment struct {
	Pos  float64
	At   time.Duration
	Lane string
	Text string
}

func newChart(events []history.Event) *chart {
	all := timeline.Of(events)
	t := &chart{all: all, events: events, clients: slices.Clone(all.Clients), servers: all.Servers, notes: map[int]string{}, lapsed: map[int]bool{}}
	for _, h := range all.Holds {
		t.holds = append(t.holds, span{Span: h.Span, Lane: h.Client, Label: "holds"})
		if h.End == timeline.Lapsed && h.To != float64(int(h.To)) {
			t.moments = append(t.moments, moment{h.To, h.Ended, h.Client, "its hold is over by its own account"})
		}
	}
	for _, f := range all.Faults {
		t.fault(f)
	}
	for _, k := range all.Keys {
		if k.Expired {
			lease := "the lease of " + k.Key
			if k.Owner != "" {
				lease += ", " + k.Owner + "'s,"
			}
			t.moments = append(t.moments, moment{k.To, k.Ended, k.Server, lease + " runs out"})
		}
	}
	for _, touch := range all.Touches {
		if note := note(touch, events[touch.Event].Client); note != "" {
			t.notes[touch.Event] = strings.TrimPrefix(t.notes[touch.Event]+"; "+note, "; ")
		}
	}
	slices.SortStableFunc(t.moments, func(x, y moment) int { return cmp.Compare(x.At, y.At) })
	for _, m := range t.moments {
		if after := int(math.Ceil(m.Pos)); m.Pos < float64(after) {
			t.lapsed[after] = true
		}
	}
	return t
}

// fault puts a fault into the lanes of the clients that it hits.
func (t *chart) fault(f timeline.FaultSpan) {
	if f.From == f.To || f.Kind.OnServer() {
		return
	}
	for _, client := range t.clients {
		if f.Hits(client) {
			t.faults = append(t.faults, span{Span: f.Span, Lane: client, Label: string(f.Kind)})
		}
	}
}

// laneOf is the client or server that an event happened to; empty if it is neither.
func (t *chart) laneOf(e history.Event) string {
	f := e.Fault()
	switch {
	case f != nil && (slices.Contains(t.clients, f.Target) || slices.Contains(t.servers, f.Target)):
		return f.Target
	case e.Kind == history.KindFinal && slices.Contains(t.servers, history.Resource):
		return history.Resource
	}
	return e.Client
}

// note says in words what a command of a client did to a key, and whose that was.
func note(t timeline.Touch, by string) string {
	after, theirs := t.Change.After, ""
	switch t.Owner {
	case "":
	case by:
		theirs = ", its own"
	default:
		theirs = ", which is " + t.Owner + "'s"
	}
	switch t.Effect {
	case history.EffectCreated:
		return fmt.Sprintf("creates %s = %s%s", brief(t.Key), clip(brief(after.Value), 24), left(after))
	case history.EffectRemoved:
		return fmt.Sprintf("removes %s%s", t.Key, theirs)
	case history.EffectReplaced:
		return fmt.Sprintf("changes %s%s: %s to %s%s", brief(t.Key), theirs, clip(brief(t.Change.Before.Value), 24), clip(brief(after.Value), 24), left(after))
	case history.EffectProlonged:
		return fmt.Sprintf("prolongs %s%s%s", t.Key, theirs, left(after))
	case history.EffectShortened:
		return fmt.Sprintf("shortens %s%s%s", t.Key, theirs, left(after))
	case history.EffectUnclear:
		return fmt.Sprintf("%s changed, or its time ran out", t.Key)
	}
	return ""
}

func left(s history.State) string {
	if s.TTL == 0 {
		return ""
	}
	return ", " + duration(s.TTL) + " left"
}
