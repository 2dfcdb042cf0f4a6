package protocol

import (
	"fmt"
	"strings"
)

// SentinelAddr is how the lab tells a client of a primary with replicas, by the name that the Sentinels have for it. Servers and Sentinels announce
// addresses of their own; the client connects to its links instead.
type SentinelAddr struct {
	Name      string
	Sentinels []Link
	Nodes     []Link
}

// Link is the address of a client's link to a server that others know by another address.
type Link struct{ Announced, Addr string }

// String is the address in a request.
func (a SentinelAddr) String() string {
	return SentinelScheme + a.Name + "/" + joinLinks(a.Sentinels) + "/" + joinLinks(a.Nodes)
}

func joinLinks(links []Link) string {
	words := make([]string, len(links))
	for i, l := range links {
		words[i] = l.Announced + "=" + l.Addr
	}
	return strings.Join(words, ",")
}

// ParseSentinel reads the address of a request; ok is false if it is of another scheme.
func ParseSentinel(addr string) (a SentinelAddr, ok bool, err error) {
	rest, ok := strings.CutPrefix(addr, SentinelScheme)
	if !ok {
		return a, false, nil
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 3 || parts[0] == "" {
		return a, true, fmt.Errorf("%q is no address of Sentinels; write %sNAME/SENTINELS/NODES", addr, SentinelScheme)
	}
	a.Name = parts[0]
	if a.Sentinels, err = splitLinks(parts[1]); err == nil {
		a.Nodes, err = splitLinks(parts[2])
	}
	return a, true, err
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
