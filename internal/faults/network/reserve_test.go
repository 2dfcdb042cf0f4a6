//go:build linux

package network

import (
	"net"
	"strconv"
	"testing"

	"github.com/locklab/locklab/faults"
	"github.com/stretchr/testify/require"
)

// TestRefusingLinkKeepsItsPort asserts that nobody else gets the port of a link that refuses connections, and that the link gets it
// back. It is free once the link is closed.
func TestRefusingLinkKeepsItsPort(t *testing.T) {
	n := openNetwork(t)
	// Somebody is there: else the link would end the connection below, and its port would have to wait for what may still be on the way.
	link, err := n.Link(t.Context(), "C1-lock", startUpstream(t).addr(), nil)
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(link.Addr())
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	loopback := net.IPv4(127, 0, 0, 1)

	injected, err := link.Inject(t.Context(), faults.LinkFault{Kind: faults.Refuse})
	require.NoError(t, err)
	_, err = Reserve(loopback, number)
	require.ErrorContains(t, err, "address already in use")
	_, err = injected.Recover(t.Context())
	require.NoError(t, err)
	conn, err := net.Dial("tcp", link.Addr())
	require.NoError(t, err, "the link listens again")
	require.NoError(t, conn.Close())

	require.NoError(t, link.Close())
	release, err := Reserve(loopback, number)
	require.NoError(t, err, "a closed link gives its port back")
	release()
}
