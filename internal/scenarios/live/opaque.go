package live

import (
	"context"
	"errors"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/faults/server/postgres"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// opaque is the service of the lock servers if the tap does not read what clients send to it, or "".
func (w *World) opaque() string {
	if slices.Contains(ProgramServers(), w.cfg.Server) {
		return w.cfg.Server
	}
	return ""
}

// serves takes in what the world's lock servers are to a foreign client, which runs on whatever it is given.
func (w *World) serves(traits *play.Traits) {
	traits.Opaque, traits.ZooKeeper, traits.Library.Ensemble = w.opaque(), w.keeper != nil, w.cfg.Server == Ensemble
}

// findOpaque looks for the lock servers' program before the first cell, and describes them.
func (w *World) findOpaque(ctx context.Context) (err error) {
	switch w.opaque() {
	case Etcd:
		_, version, err := etcd.Find()
		w.first = "etcd " + version + " (started by the lab)"
		return err
	case Postgres:
		if w.home, err = postgres.Open(ctx, w.guard); err != nil {
			return err
		}
		w.first = w.home.Describe()
	}
	return nil
}

// observed is a server whose locks the lab looks at by itself.
type observed interface {
	server.Server
	server.Observable
}

// startOpaque starts a lock server whose protocol the tap does not read. log is the path at which to link its log.
func (w *World) startOpaque(ctx context.Context, log string) (_ server.Server, part func() error, err error) {
	file, err := w.spares.nextLog(w.cfg.Dir)
	if err != nil {
		return nil, nil, err
	}
	var s observed
	if w.home != nil {
		s, err = w.home.Start(ctx, file)
	} else {
		s, err = etcd.Start(ctx, w.guard, file)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := (&spare{s, file}).linkLog(log); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, s.Close, nil
}

// lacksAtOpaque says what a script needs that a lock on such a server, its client or the lab does not have, or "".
func (w *World) lacksAtOpaque(script *scenarios.Script, traits play.Traits) string {
	if traits.Opaque == "" {
		return play.NeedsProgram
	}
	for _, step := range script.Steps {
		if why := w.unseen(step, traits); why != "" {
			return why
		}
	}
	return traits.Lack(script, play.Limits{
		faults.ServerCopy: "the lab does not restart " + w.opaque() + " with an older copy of its data",
		faults.Replicas:   play.NeedsReplicas,
	})
}

// unseen says why a step is not possible where nobody reads what clients send to the lock server, or "".
func (w *World) unseen(step scenarios.Step, traits play.Traits) string {
	switch step.Verb {
	case scenarios.VerbRenews, scenarios.VerbWaitRenewed, scenarios.VerbWaitHalf, scenarios.VerbWaits:
		return "the lab does not read what clients send to " + w.opaque()
	case scenarios.VerbServerJump, scenarios.VerbOperator:
		return "the lab does not change the clock or the data of " + w.opaque()
	}
	if step.Op == history.OpWork {
		return ""
	}
	for _, at := range step.Breakpoints {
		if !slices.Contains(traits.OneRequest, step.Op.String()) || !tap.CanUnread(at, step.Op) {
			return "the lab does not read what clients send to " + w.opaque() + ": no breakpoint \"" + at.String() + "\" in its " + step.Op.String()
		}
	}
	return ""
}
