package sim

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/service"
)

// replicaCount is how many replicas each server has. What they have is a copy from the moment since when they get nothing more.
const replicaCount = 2

// replication is what a server knows of its replicas.
type replication struct {
	held   int           // so many get nothing more
	since  time.Duration // since when
	strict bool          // writes are refused while no replica reports
}

// hold has so many replicas get nothing more.
func (s *server) hold(count int) {
	s.saved = s.redis().Clone()
	s.replication.held, s.replication.since = count, s.cell.Now()
}

// HoldBack has one replica get nothing more.
func (s *server) HoldBack(context.Context) error {
	s.hold(1)
	return nil
}

// RequireReplica has the server refuse writes while no replica reports.
func (s *server) RequireReplica(context.Context) error {
	s.replication.strict = true
	return nil
}

// RefusesWrites says whether it does.
func (s *server) RefusesWrites(context.Context) (bool, error) { return s.refuses(), nil }

func (s *server) refuses() bool {
	r := s.replication
	return r.strict && r.held == replicaCount && s.cell.Now()-r.since > faults.MaxLag
}

// awaitReplicas carries out WAIT, with a number of replicas and a bound in milliseconds.
func (s *server) awaitReplicas(f *flight) {
	wanted, bound := 0, 0
	if len(f.words) == 3 {
		wanted, _ = strconv.Atoi(f.words[1])
		bound, _ = strconv.Atoi(f.words[2])
	}
	following := replicaCount - s.replication.held
	answer := func() {
		f.replies = append(f.replies, service.Reply{Kind: service.Integer, Int: int64(following)})
		s.cell.arrive(f.packet)
	}
	if following >= wanted {
		answer()
		return
	}
	s.cell.timeline.after(time.Duration(bound)*time.Millisecond, answer)
}

// The errors of a server that has too few replicas.
const (
	noReplicas = "NOREPLICAS Not enough good replicas to write."
	execAbort  = "EXECABORT Transaction discarded because of previous errors."
)

// execute has the server carry a command out, unless it refuses writes. A script is refused when it comes to its first write.
func (s *server) execute(f *flight) service.Reply {
	q := s.queued[f.conn.id]
	script := slices.Contains([]string{"EVAL", "EVALSHA"}, f.traits.Name)
	switch {
	case f.traits.Name == "EXEC" && q != nil && (q.refused || q.writes && s.refuses()):
		s.model.Do(f.conn.id, "DISCARD")
		return service.Reply{Kind: service.Error, Text: execAbort}
	case !s.refuses() || !f.traits.Writes || f.traits.Name == "EXEC", script && !f.queued && !s.wouldChange(f):
		return s.model.Do(f.conn.id, f.words...)
	case f.queued:
		q.refused = true
	}
	return service.Reply{Kind: service.Error, Text: noReplicas}
}

// wouldChange says whether a script changes a key that it names.
func (s *server) wouldChange(f *flight) bool {
	after := *s
	after.model = s.redis().Clone()
	after.model.Do(f.conn.id, f.words...)
	return slices.ContainsFunc(f.keys, func(key string) bool { return s.state(key) != after.state(key) })
}

// split has a replica take over, while this server's state lives on as an old primary without replicas, which answers the clients.
func (s *server) split(without []string) {
	s.old = &server{
		cell: s.cell, name: history.OldPrimary, model: s.redis().Clone(), watch: s.watch, queued: map[int]*queue{}, condition: condition{ahead: s.ahead},
		replication: replication{held: replicaCount, since: s.cell.Now(), strict: s.replication.strict},
	}
	s.restart(true)
	s.breakAll()
	for _, n := range s.cell.nodes {
		if !slices.Contains(without, n.name) {
			continue
		}
		for _, l := range n.linksTo(s) {
			l.server = s.old
		}
	}
}

// demote has the old primary answer nobody any more.
func (s *server) demote() {
	for _, n := range s.cell.nodes {
		for _, l := range n.linksTo(s) {
			if l.server == s.old {
				l.breakAll()
				l.server = s
			}
		}
	}
	s.old = nil
}
