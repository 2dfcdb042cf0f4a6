// Package diagram shows one history: in lanes, a line for each event, as lab explain prints it; as JSON; as a few steps of a race.
//
// It owns lanes, and the words for events. It must not judge: who holds when is the timeline's.
package diagram

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/timeline"
)

// Chart is a timeline laid out in lanes, one for each client and each server.
type Chart struct {
	All              *timeline.Timeline
	Events           []history.Event
	clients, servers []string
	holds            []span // lane: client
	faults           []span // lane: client
	moments          []moment
	Notes            map[int]string // by event: what a command did to the keys
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

func Of(events []history.Event) *Chart {
	all := timeline.Of(events)
	t := &Chart{All: all, Events: events, clients: slices.Clone(all.Clients), servers: all.Servers, Notes: map[int]string{}, lapsed: map[int]bool{}}
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
			t.Notes[touch.Event] = strings.TrimPrefix(t.Notes[touch.Event]+"; "+note, "; ")
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
func (t *Chart) fault(f timeline.FaultSpan) {
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
func (t *Chart) laneOf(e history.Event) string {
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
		return fmt.Sprintf("creates %s = %s%s", brief(t.Key), format.Clip(brief(after.Value), 24), left(after))
	case history.EffectRemoved:
		return fmt.Sprintf("removes %s%s", t.Key, theirs)
	case history.EffectReplaced:
		return fmt.Sprintf("changes %s%s: %s to %s%s", brief(t.Key), theirs, format.Clip(brief(t.Change.Before.Value), 24), format.Clip(brief(after.Value), 24), left(after))
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
	return ", " + format.Duration(s.TTL) + " left"
}
