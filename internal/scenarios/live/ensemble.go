package live

import (
	"context"
	"slices"

	"github.com/locklab/locklab/internal/scenarios/live/service"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// ensemble is the ensemble of the cell's locks, if the lock server is one.
func (c *cell) ensemble() (*zookeeper.Ensemble, bool) {
	if len(c.stage.servers) == 0 {
		return nil, false
	}
	e, is := c.stage.servers[0].Server.(*zookeeper.Ensemble)
	return e, is
}

// meetEnsemble has one tap before the servers of the ensemble: their states are the same, and one request at a time passes.
func (s *lockServer) meetEnsemble(ctx context.Context) (err error) {
	if s.tap, err = s.cell.newTap(ctx, s.name, s.Addr(), s.cell.run.IsLock, s.cell.keys, false); err != nil {
		return err
	}
	names := scenarios.ServerNames(len(s.ensemble.Members(ctx)))
	for i, m := range s.ensemble.Members(ctx) {
		s.members = append(s.members, &member{Member: m, what: names[i], tap: s.tap, server: s})
	}
	return nil
}

// Members are the servers of the ensemble, for scripts that name them.
func (s *stage) Members() []play.Server {
	var all []play.Server
	for _, one := range s.servers {
		if one.ensemble != nil {
			for _, m := range one.members {
				all = append(all, m)
			}
		}
	}
	return all
}

// Name is the member's in scripts.
func (m *member) Name() string { return m.what }

// State reads a key of the ensemble.
func (m *member) State(ctx context.Context, key string) (history.State, error) {
	return m.server.State(ctx, key)
}

// Save is for servers that can lose what they have acknowledged.
func (m *member) Save(context.Context) error { return play.NotApplicable(service.KeepsAll) }

// Cause causes a fault of a server of the ensemble while no request is in flight.
func (m *member) Cause(ctx context.Context, f play.ServerFault) (string, error) {
	e := m.server.ensemble
	switch f.Kind {
	case faults.Down:
		return "the server has ended, and the others serve, if they are enough", m.breaking(ctx, e.StopMember)
	case faults.Restart:
		return "the server has started empty, and follows the others", m.breaking(ctx, e.EmptyMember)
	case faults.Isolated:
		return "", m.do(ctx, e.CutOff)
	}
	return "", play.NotApplicable("one server of an ensemble cannot have the fault %s", f.Kind)
}

// breaking is do for what breaks the connections to the server.
func (m *member) breaking(ctx context.Context, what func(context.Context, string) error) error {
	return atServer(m.server.breaking(ctx, m.tap, m.Addr, func() error { return what(ctx, m.Addr) }))
}

// Recover ends a fault of a server of the ensemble.
func (m *member) Recover(ctx context.Context, kind faults.Kind) error {
	if kind == faults.Isolated {
		return m.do(ctx, m.server.ensemble.Rejoin)
	}
	return m.do(ctx, m.server.ensemble.StartMember)
}

// do has something happen to the server while no request is in flight.
func (m *member) do(ctx context.Context, what func(context.Context, string) error) error {
	return atServer(m.tap.Exclusively(ctx, func() error { return what(ctx, m.Addr) }))
}

// faultsServers says whether a step of the script is a fault that changes a server.
func faultsServers(script *scenarios.Script) bool {
	return slices.ContainsFunc(script.Steps, func(step scenarios.Step) bool {
		fault, _ := step.Fault()
		return fault.Kind.Changes()
	})
}
