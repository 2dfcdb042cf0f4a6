package network

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
	"github.com/locklab/locklab/faults"
)

// Prefix begins the names of all proxies of this network, and of no others.
func (n *Network) Prefix() string { return n.run }

// RemoveProxies removes the proxies whose names begin with the prefix, which must not be empty, from the toxiproxy whose API is at the URL,
// and returns their number. The guard calls it for a lab that died before it closed its network.
func RemoveProxies(ctx context.Context, apiURL, prefix string) (removed int, err error) {
	if prefix == "" {
		return 0, fmt.Errorf("toxiproxy at %s: an empty prefix would remove the proxies of others", apiURL)
	}
	api, host, err := parseURL(apiURL)
	if err != nil {
		return 0, err
	}
	n := newNetwork(api, "", host)
	defer http.DefaultClient.CloseIdleConnections()
	proxies, err := n.proxies(ctx)
	if err != nil {
		return 0, fmt.Errorf("toxiproxy at %s: %w", api, rootCause(err))
	}
	var errs []error
	for name, proxy := range proxies {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		removed++
		l := &Link{network: n, proxy: proxy, name: name, turn: make(chan struct{}, 1)}
		if err := l.remove(ctx); err != nil {
			errs = append(errs, fmt.Errorf("toxiproxy at %s: remove proxy %s: %w", api, name, rootCause(err)))
		}
	}
	return removed, errors.Join(errs...)
}

// proxies lists all proxies, including those of other runs.
func (n *Network) proxies(ctx context.Context) (proxies map[string]*toxiproxy.Proxy, err error) {
	asker := &Link{network: n, turn: make(chan struct{}, 1)}
	listed := make(chan map[string]*toxiproxy.Proxy, 1)
	err = asker.call(ctx, func() error {
		proxies, err := n.client.Proxies()
		listed <- proxies
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-listed, nil
}

// remove deletes a proxy and drops what a fault holds on it.
func (l *Link) remove(ctx context.Context) error {
	var errs []error
	has := func(name string) bool {
		return slices.ContainsFunc(l.proxy.ActiveToxics, func(t toxiproxy.Toxic) bool { return t.Name == name })
	}
	for _, stream := range streams(faults.Both) {
		switch {
		case !has("slow-" + stream):
		case has("sink-" + stream):
			errs = append(errs, l.removeToxic(ctx, "slow-"+stream))
		default:
			errs = append(errs, l.dropSlowed(ctx, stream))
		}
	}
	if err := l.call(ctx, l.proxy.Delete); err != nil && !notFound(err) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
