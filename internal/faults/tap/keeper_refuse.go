package tap

import (
	"fmt"
	"path"
	"sync/atomic"

	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/resp"
)

// All cells share one ZooKeeper, so what a client does beyond its cell's nodes, or to the server as a whole, does not pass.

// maxRequest is the length in bytes of the longest request that passes; a server refuses longer ones.
const maxRequest = 1 << 20

// What the clients of a cell may have the server keep, in bytes: it has 128 MiB for all of them. Requests that are on record count only if
// they are long, since the record has a limit of its own.
const (
	longRequest = 1 << 10
	maxKept     = 8 << 20
)

// kept counts what the server may keep of requests.
type kept struct{ bytes atomic.Int64 }

// refusal says why a request does not pass, or is empty.
func (n *nodes) refusal(r jute.Request) string {
	switch {
	case r.Path == "" && r.Op.Writes():
		return "the lab cannot read which nodes it is about"
	case r.Op == jute.OpSetACL:
		return "the lab could not remove the node any more"
	case r.Path == "", r.Path == "/" && !r.Op.Writes(), len(n.keys(r)) > 0:
		return ""
	}
	return fmt.Sprintf("%s is neither the node of a lock of this cell nor directly below it", path.Clean(r.Path))
}

// admit says why a request of length bytes does not pass; nil: it does.
func (k *keeper) admit(r jute.Request, length int) error {
	if why := k.tap.nodes.refusal(r); why != "" {
		return fmt.Errorf("client %s sent %s to %s, which the lab refuses: %s", k.client, r.Op.Name(), k.tap.cfg.Server, why)
	}
	if recorded := len(k.tap.nodes.keys(r)) > 0; recorded && length <= longRequest {
		return nil
	}
	if k.tap.nodes.kept.bytes.Add(int64(length)) > maxKept {
		err := &resp.LimitError{What: "bytes of requests that the server may keep", Limit: maxKept}
		return fmt.Errorf("requests of client %s to %s: %w", k.client, k.tap.cfg.Server, err)
	}
	return nil
}

// room asks for the room of a request of n bytes, before it is read.
func (k *keeper) room(n int) error {
	if n > maxRequest {
		return jute.SyntaxError(fmt.Sprintf("a request of %d bytes, more than %d", n, maxRequest))
	}
	return k.account.Take(n)
}

// passed gives the room of a frame back.
func (k *keeper) passed(frame []byte) { k.account.Give(len(frame) - jute.LengthBytes) }
