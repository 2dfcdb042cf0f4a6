package protocol

import (
	"cmp"
	"fmt"
	"strings"
)

// ClusterScheme begins the address of a Redis Cluster: ClusterAddr says what follows. Only the lab's own client gets one.
const ClusterScheme = "cluster://"

// ClusterAddr is how the lab tells a client of a Redis Cluster. All keys that it uses have the same hash tag.
type ClusterAddr struct {
	Tag   string
	Nodes []Link
}

// String is the address in a request.
func (a ClusterAddr) String() string { return ClusterScheme + a.Tag + "/" + joinLinks(a.Nodes) }

// ParseCluster reads the address of a request; ok is false if it is of another scheme.
func ParseCluster(addr string) (a ClusterAddr, ok bool, err error) {
	rest, ok := strings.CutPrefix(addr, ClusterScheme)
	if !ok {
		return a, false, nil
	}
	tag, nodes, ok := strings.Cut(rest, "/")
	if !ok || tag == "" {
		return a, true, fmt.Errorf("%q is no address of a cluster; write %sTAG/NODES", addr, ClusterScheme)
	}
	a.Tag = tag
	a.Nodes, err = splitLinks(nodes)
	return a, true, err
}

// CheckAddr says what is wrong with the address of a lock server.
func CheckAddr(addr string) error {
	_, _, ofSentinels := ParseSentinel(addr)
	_, _, ofCluster := ParseCluster(addr)
	return cmp.Or(ofSentinels, ofCluster)
}
