package live

import (
	"context"
	"io"
	"strings"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/process"
	"github.com/locklab/locklab/faults/server"
)

// The kinds of what a guard undoes: what a run leaves at servers that are not its own. Each is told where, and a prefix.
const (
	undoProxies = "proxies"
	undoKeys    = "keys"
)

// GuardMain is what the command in Config.Guard runs. It returns when its input has ended and nothing of the run is left.
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
