package network

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/stretchr/testify/require"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
)

func openNetwork(t *testing.T) *Network {
	t.Helper()
	n, err := Open(bounded(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func openLink(t *testing.T) (*Link, *upstreamServer) {
	t.Helper()
	u := startUpstream(t)
	l, err := openNetwork(t).Link(bounded(t), "C1", u.addr(), u)
	require.NoError(t, err)
	return l, u
}

func TestOwnToxiproxy(t *testing.T) {
	n := openNetwork(t)
	require.Equal(t, "in-process", n.Where())
	require.Equal(t, "git", n.Version(), "a test binary does not know what it is made of")
}

func TestExternalToxiproxy(t *testing.T) {
	other, err := serve()
	require.NoError(t, err)
	defer func() { require.NoError(t, other.close()) }()
	stranger, err := toxiproxy.NewClient(other.url).CreateProxy("somebody-elses", "127.0.0.1:0", "127.0.0.1:1")
	require.NoError(t, err)

	n, err := Open(bounded(t), other.url+"/")
	require.NoError(t, err)
	require.Equal(t, other.url, n.Where())
	u := startUpstream(t)
	l, err := n.Link(bounded(t), "C1", u.addr(), u)
	require.NoError(t, err)
	i, err := l.Inject(bounded(t), faults.LinkFault{Kind: faults.Partition, Direction: faults.Both})
	require.NoError(t, err)
	_, err = i.Recover(bounded(t))
	require.NoError(t, err)
	require.NoError(t, n.Close())
	require.NoError(t, n.Close())

	left, err := toxiproxy.NewClient(other.url).Proxies()
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, stranger.Delete())
	_, err = n.Link(bounded(t), "C2", u.addr(), u)
	require.ErrorContains(t, err, "closed")
}

func TestOpenErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	json := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"a":1}`) }))
	defer json.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer mute.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())

	for name, test := range map[string]struct{ url, want string }{
		"no URL":       {"127.0.0.1:8474", "not a URL like http://127.0.0.1:8474"},
		"no host":      {"http://", "not a URL"},
		"other scheme": {"ftp://127.0.0.1", "not a URL"},
		"unreachable":  {"http://" + free.Addr().String(), "unreachable: dial tcp"},
		"other server": {web.URL, "not from a toxiproxy (HTTP 404"},
		"other JSON":   {json.URL, "not from a toxiproxy"},
		"no answer":    {"http://" + mute.Addr().String(), "unreachable: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := bounded(t)
			if name == "no answer" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			_, err := Open(ctx, test.url)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, 1, strings.Count(err.Error(), "toxiproxy at"), err)
		})
	}
}

func TestLinkErrors(t *testing.T) {
	n := openNetwork(t)
	_, err := n.Link(bounded(t), "a/b", "127.0.0.1:1", nil)
	require.ErrorContains(t, err, "a name is made of")
	first, err := n.Link(bounded(t), "C1", "127.0.0.1:1", nil)
	require.NoError(t, err)
	_, err = n.Link(bounded(t), "C1", "127.0.0.1:1", nil)
	require.ErrorContains(t, err, "proxy already exists")
	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	_, err = n.Link(bounded(t), "C1", "127.0.0.1:1", nil)
	require.NoError(t, err, "the name is free again")
}

func TestPortsThatAreTakenAreSkipped(t *testing.T) {
	n := openNetwork(t)
	next := n.ports.take() + 1
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", next))
	if err != nil {
		t.Skipf("somebody else has the port: %v", err)
	}
	defer taken.Close()
	l, err := n.Link(bounded(t), "C1", "127.0.0.1:1", nil)
	require.NoError(t, err)
	require.NotEqual(t, taken.Addr().String(), l.Addr())
}

func TestPortsComeInTurn(t *testing.T) {
	p := ports{next: portFirst + portCount - 1}
	require.Equal(t, portFirst+portCount-1, p.take())
	require.Equal(t, portFirst, p.take())
	require.Equal(t, portFirst+1, p.take())
	first := new(ports).take()
	require.True(t, first >= portFirst && first < portFirst+portCount)
}

func TestManyLinksAtOnce(t *testing.T) {
	n := openNetwork(t)
	u := startUpstream(t)
	ctx := bounded(t)
	var wg sync.WaitGroup
	errs := make([]error, 400)
	for i := range errs {
		wg.Go(func() { errs[i] = useOnce(ctx, n, fmt.Sprintf("cell%d", i), u) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Empty(t, n.links)
}

func useOnce(ctx context.Context, n *Network, name string, u *upstreamServer) error {
	l, err := n.Link(ctx, name, u.addr(), u)
	if err != nil {
		return err
	}
	p, err := newProbe(ctx, l)
	if err != nil {
		return err
	}
	p.close()
	return l.Close()
}
