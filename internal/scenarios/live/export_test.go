package live

import (
	"context"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/live/ledger"
)

// TapAt is a tap as a cell has it in front of a server at an address, for keys that contain a prefix.
func TapAt(ctx context.Context, guard *process.Guard, addr, prefix string) (*tap.Tap, error) {
	w := &World{ledger: ledger.New(guard, redis.Plain(addr), prefix, false, commands.NewTable())}
	cfg := tap.Config{
		Server: "redis", Upstream: addr, Since: func() time.Duration { return 0 }, Record: func(history.Event) {},
		Current: func(string) (op history.Op, id int64) { return op, id },
	}
	w.ledger.NewKeys(prefix).Confine(&cfg, time.Minute)
	return tap.New(ctx, cfg)
}
