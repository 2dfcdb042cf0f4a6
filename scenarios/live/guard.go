package live

import (
	"context"
	"io"
	"strings"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/process"
	"github.com/locklab/locklab/faults/server"
)

// The guard's kinds of undo, for foreign servers. Each takes an address and a prefix.
const (
	undoProxies = "proxies"
	undoKeys    = "keys"
)

// GuardMain is the main function of the command in Config.Guard. It returns when its input has ended and the run is cleaned up.
func GuardMain(stdin io.Reader, stdout io.Writer) error {
	return process.GuardMain(stdin, stdout, map[string]process.Undo{
		undoProxies: func(ctx context.Context, what string) (bool, error) {
			apiURL, prefix, _ := strings.Cut(what, " ")
			removed, err := network.RemoveProxies(ctx, apiURL, prefix)
			return removed > 0, err
		},
		undoKeys: func(ctx context.Context, what string) (bool, error) {
			addr, prefix, _ := strings.Cut(what, " ")
			deleted, err := server.DeletePrefix(ctx, addr, 0, prefix)
			return deleted > 0, err
		},
	})
}
