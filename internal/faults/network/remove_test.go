package network

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/stretchr/testify/require"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
)

// abandoned opens a network at a toxiproxy, and has nobody close it. Its links are in the middle of each fault.
func abandoned(t *testing.T, api string) *Network {
	t.Helper()
	n, err := Open(bounded(t), api)
	require.NoError(t, err)
	for i, fault := range []faults.LinkFault{{}, {Kind: faults.Partition, Direction: faults.Both}, {Kind: faults.Partition, Direction: faults.Requests}, {Kind: faults.Partition, Direction: faults.Replies}, {Kind: faults.Delay, Each: time.Millisecond}, {Kind: faults.Refuse}, {Kind: faults.ReplyLost}} {
		u := startUpstream(t)
		l, err := n.Link(bounded(t), fmt.Sprint(i), u.addr(), u)
		require.NoError(t, err)
		if fault.Kind == "" {
			continue
		}
		injected, err := l.Inject(bounded(t), fault)
		require.NoError(t, err)
		if injected.probe != nil {
			t.Cleanup(injected.probe.close)
		}
	}
	return n
}

func TestRemoveProxies(t *testing.T) {
	other, err := serve()
	require.NoError(t, err)
	defer func() { require.NoError(t, other.close()) }()
	stranger, err := toxiproxy.NewClient(other.url).CreateProxy("locklab-somebody-elses", "127.0.0.1:0", "127.0.0.1:1")
	require.NoError(t, err)
	n := abandoned(t, other.url)
	addrs := map[string]bool{}
	for l := range n.links {
		addrs[l.Addr()] = true
	}
	// As if the lab had been killed while it dropped what this one holds.
	half, err := n.client.Proxy(n.Prefix() + "1")
	require.NoError(t, err)
	_, err = half.AddToxic("sink-upstream", "timeout", "upstream", 1, toxiproxy.Attributes{"timeout": 0})
	require.NoError(t, err)

	removed, err := RemoveProxies(bounded(t), other.url+"/", n.Prefix())
	require.NoError(t, err)
	require.Equal(t, len(addrs), removed)
	for addr := range addrs {
		_, err := net.Dial("tcp", addr)
		require.Error(t, err, "nobody listens any more")
	}
	removed, err = RemoveProxies(bounded(t), other.url, n.Prefix())
	require.NoError(t, err)
	require.Zero(t, removed)
	left, err := toxiproxy.NewClient(other.url).Proxies()
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, stranger.Delete())
}

func TestRemoveProxiesErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	release := make(chan struct{})
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer mute.Close()
	defer close(release)

	for name, test := range map[string]struct{ url, prefix, want string }{
		"everybody's":  {web.URL, "", "an empty prefix"},
		"no URL":       {"nowhere", "x", "not a URL"},
		"unreachable":  {"http://" + free.Addr().String(), "x", "dial tcp"},
		"other server": {web.URL, "x", "toxiproxy at " + web.URL},
		"no answer":    {mute.URL, "x", "does not answer: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := bounded(t)
			if name == "no answer" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			_, err := RemoveProxies(ctx, test.url, test.prefix)
			require.ErrorContains(t, err, test.want)
		})
	}
}
