package live

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/scenarios"
)

// prepareRestarts makes sure that restarts of the server at the address can be seen, and starts the Redis of the data that locks protect: a restart must
// not meet them, as it does not where the lab starts the servers.
func (w *World) prepareRestarts(ctx context.Context) error {
	identity, err := w.remote.Identity(ctx)
	if err == nil && identity.RunID == "" {
		err = fmt.Errorf("INFO server tells no run_id, by which the lab knows a restart; let its user send INFO, or leave --restart-command out")
	}
	if err != nil {
		return fmt.Errorf("redis at %s: %w", w.remote.Endpoint(), err)
	}
	return w.startResource(ctx)
}

// reserve waits until the cell may use the server at the address: those that restart it have it alone.
func (w *World) reserve(script *scenarios.Script) (leave func()) {
	if w.cfg.Restart == "" {
		return func() {}
	}
	if stopsServers(script) {
		w.apart.Lock()
		return w.apart.Unlock
	}
	w.apart.RLock()
	return w.apart.RUnlock
}

// stopsServers says whether a script stops or restarts a server.
func stopsServers(script *scenarios.Script) bool {
	for i := range script.Steps {
		fault, is := script.Steps[i].Fault()
		for _, need := range fault.Needs {
			if is && need == faults.ServerStop {
				return true
			}
		}
	}
	return false
}

// restartable is the server at the address for a lock server of a cell that may restart it.
func (s *lockServer) restartable() *redis.Restartable {
	w := s.cell.world
	return &redis.Restartable{
		Remote:   w.remote,
		Run:      w.restart,
		Keys:     s.keys.All,
		Expiring: func(keys []string) []string { return s.tap.Expiring(keys) },
		Up:       func(now redis.Identity) { s.cell.before = now },
	}
}

// restart runs the user's command. Until the server is started again, the guard would do that, too.
func (w *World) restart(action string) error {
	if action == redis.ActionStop {
		sealed, err := w.remote.Endpoint().Seal()
		if err == nil {
			err = w.guard.Undo(undoStop, strconv.Quote(actionOf(w.cfg.Restart, redis.ActionStart))+" "+sealed)
		}
		if err != nil {
			return err
		}
	}
	if err := w.guard.Outside(w.cfg.Outside, actionOf(w.cfg.Restart, action)); err != nil {
		return fmt.Errorf("--restart-command %s: %w", action, err)
	}
	if action == redis.ActionStart {
		return w.guard.ForgetUndo(undoStop)
	}
	return nil
}

// actionOf is the shell command for an action.
func actionOf(command, action string) string { return command + " " + action }

// startServer starts a server at an address that the lab has stopped, if it does not answer.
func startServer(ctx context.Context, what []string) (found bool, err error) {
	quoted, err := strconv.QuotedPrefix(what[0])
	if err != nil {
		return false, err
	}
	command, err := strconv.Unquote(quoted)
	if err != nil {
		return false, err
	}
	at, err := redis.Unseal(strings.TrimPrefix(what[0], quoted+" "))
	if err != nil || at.Answers(ctx) {
		return false, err
	}
	if err := redis.RunCommand(context.WithoutCancel(ctx), command); err != nil {
		return false, err
	}
	for !at.Answers(ctx) && ctx.Err() == nil {
		_ = sleep(ctx, askPause)
	}
	return false, context.Cause(ctx)
}
