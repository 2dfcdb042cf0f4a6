package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/locklab/locklab/internal/scenarios/play"
)

// How long a server at an address may take to say who it is.
const (
	askTime  = 3 * time.Second  // while nobody listens there: one that is being restarted needs a moment
	askMost  = 20 * time.Second // while it does not answer, because the host or the server is busy
	askPause = 50 * time.Millisecond
)

// meetServer notes which server is at the address, if the cell uses one.
func (c *cell) meetServer(ctx context.Context) (err error) {
	if c.keys == nil {
		return nil
	}
	if c.before, err = c.world.remote.Identity(ctx); err != nil {
		return fmt.Errorf("redis at %s: %w", c.world.remote.Endpoint(), err)
	}
	return nil
}

// serverChanged ends a cell whose server at an address was restarted, failed over or lost meanwhile, whatever came of the script: what
// that did to the lock is not the lock's fault.
func (c *cell) serverChanged() error {
	if c.before.RunID == "" && c.before.Role == "" {
		return nil // no address, or the server does not tell
	}
	ctx, cancel := context.WithTimeout(context.Background(), askMost)
	defer cancel()
	began := time.Now()
	now, err := c.world.remote.Identity(ctx)
	for err != nil && (time.Since(began) < askTime || isTimeout(err)) && sleep(ctx, askPause) == nil {
		now, err = c.world.remote.Identity(ctx)
	}
	if err != nil {
		return play.Undecided("the server at %s was lost: %v", c.world.remote.Addr(), err)
	}
	if how := c.before.ChangedTo(now); how != "" {
		return play.Undecided("the server at %s has %s", c.world.remote.Addr(), how)
	}
	return nil
}

func isTimeout(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout()
}
