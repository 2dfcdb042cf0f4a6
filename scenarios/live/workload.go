package live

import (
	"context"

	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/worker/protocol"
)

// store is the data that the work under one lock is done to, and where it lies.
type store struct {
	cells.Data
	addr string
}

// order completes a request to work.
func (s store) order(req *protocol.Request) {
	req.Key = s.Key
	if s.Work != history.Counter {
		req.Workload = string(s.Work)
	}
	switch s.Work {
	case history.FlashSale:
		req.Stock = s.Stock
	case history.MarketItems:
		req.Item = s.Item
	}
}

// lay puts the data there before any client is, and says what it is; nil for a counter.
func (s store) lay(ctx context.Context) (*history.Work, error) {
	commands, work := s.Beginning()
	if len(commands) == 0 {
		return work, nil
	}
	return work, server.Lay(ctx, s.addr, commands)
}

// read is what the data has come to.
func (s store) read(ctx context.Context) (*history.Detail, error) {
	if s.Work == history.Counter {
		value, err := server.Counter(ctx, s.addr, s.Key)
		return &history.Detail{Value: value}, err
	}
	return s.Found(func(key string) ([]string, error) { return server.Values(ctx, s.addr, key) })
}
