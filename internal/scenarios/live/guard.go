package live

import (
	"context"
	"io"
	"strings"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/scenarios/live/ledger"
)

// The guard's kinds of undo, for foreign servers.
const (
	undoProxies = "proxies" // an address and a prefix
	undoStop    = "stop"    // a quoted shell command that starts a server, and its sealed endpoint
	undoNodes   = "nodes"   // the address of a ZooKeeper, and the node below which all others are
)

// GuardMain is the main function of the command in Config.Guard. It returns when its input has ended and the run is cleaned up.
func GuardMain(stdin io.Reader, stdout io.Writer) error {
	return process.GuardMain(stdin, stdout, map[string]process.Undo{undoProxies: removeProxies, undoStop: startServer, ledger.Undo: ledger.DeleteLeft, undoNodes: removeNodes})
}

func removeProxies(ctx context.Context, what []string) (found bool, err error) {
	for _, one := range what {
		apiURL, prefix, _ := strings.Cut(one, " ")
		removed, err := network.RemoveProxies(ctx, apiURL, prefix)
		if err != nil {
			return false, err
		}
		found = found || removed > 0
	}
	return found, nil
}

func removeNodes(ctx context.Context, what []string) (found bool, err error) {
	for _, one := range what {
		addr, root, _ := strings.Cut(one, " ")
		removed, err := zookeeper.RemoveTree(ctx, addr, root)
		if err != nil {
			return false, err
		}
		found = found || removed
	}
	return found, nil
}

// OutsideMain is the main function of the command in Config.Outside. It returns when its input has ended.
func OutsideMain(stdin io.Reader, stdout io.Writer, command string) error {
	return process.OutsideMain(stdin, stdout, command)
}

// HostMain is the main function of the command in Config.Host. It returns when its input has ended.
func HostMain(stdin io.ReadCloser, stdout io.WriteCloser) error {
	return redis.HostMain(stdin, stdout)
}
