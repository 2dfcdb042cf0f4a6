package live

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/process"
	"github.com/locklab/locklab/faults/server"
)

// The guard's kinds of undo, for foreign servers.
const (
	undoProxies = "proxies" // an address and a prefix
	undoKeys    = "keys"    // an address and a quoted key
	undoNodes   = "nodes"   // the address of a ZooKeeper, and the node below which all others are
)

// GuardMain is the main function of the command in Config.Guard. It returns when its input has ended and the run is cleaned up.
func GuardMain(stdin io.Reader, stdout io.Writer) error {
	return process.GuardMain(stdin, stdout, map[string]process.Undo{undoProxies: removeProxies, undoKeys: deleteKeys, undoNodes: removeNodes})
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

func deleteKeys(ctx context.Context, what []string) (found bool, err error) {
	byServer := map[string][]string{}
	for _, one := range what {
		addr, quoted, _ := strings.Cut(one, " ")
		key, err := strconv.Unquote(quoted)
		if err != nil {
			return false, fmt.Errorf("%q: %w", one, err)
		}
		byServer[addr] = append(byServer[addr], key)
	}
	for addr, keys := range byServer {
		deleted, err := server.DeleteKeys(ctx, addr, keys)
		if err != nil {
			return false, err
		}
		found = found || deleted > 0
	}
	return found, nil
}

func removeNodes(ctx context.Context, what []string) (found bool, err error) {
	for _, one := range what {
		addr, root, _ := strings.Cut(one, " ")
		removed, err := server.RemoveTree(ctx, addr, root)
		if err != nil {
			return false, err
		}
		found = found || removed
	}
	return found, nil
}

// HostMain is the main function of the command in Config.Host. It returns when its input has ended.
func HostMain(stdin io.ReadCloser, stdout io.WriteCloser) error {
	return server.HostMain(stdin, stdout)
}
