package protocol

import (
	"fmt"
	"strings"
)

// ClusterScheme begins the address of a Redis Cluster: ClusterAddr says what follows. Only the lab's own client gets one.
const ClusterScheme = "cluster://"

// ClusterAddr is how the lab tells a client of a Redis Cluster. All keys that it uses have the same hash tag. Servers announce addresses of their own; the
// client connects to its links instead.
type ClusterAddr struct {
	Tag   string
	Nodes []Link
}

// Link is the address of a client's link to a server that others know by another address.
type Link struct{ Announced, Addr string }

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

func joinLinks(links []Link) string {
	words := make([]string, len(links))
	for i, l := range links {
		words[i] = l.Announced + "=" + l.Addr
	}
	return strings.Join(words, ",")
}

func splitLinks(words string) ([]Link, error) {
	var links []Link
	for word := range strings.SplitSeq(words, ",") {
		announced, addr, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q is no link; write ANNOUNCED=ADDRESS", word)
		}
		links = append(links, Link{announced, addr})
	}
	return links, nil
}
