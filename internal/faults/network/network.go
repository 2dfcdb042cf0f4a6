// Package network injects faults into the links between clients and servers. It owns a toxiproxy proxy for each link, and calls
// toxiproxy's API. It observes that each fault takes effect, on a connection that was open before.
//
// It must not know Redis's commands, beyond the PING of its canaries, nor clients or scripts.
package network

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
)

// patience bounds work without a caller's context: the end of links, and requests to the API.
const patience = 20 * time.Second

// Network is a toxiproxy and the links through it that belong to this run. It is safe for concurrent use.
type Network struct {
	client  *toxiproxy.Client
	served  *served // nil: the lab did not start the toxiproxy
	where   string
	version string
	host    string // where its proxies can be reached
	listen  string // where its proxies listen, as seen from there
	run     string // begins the names of its proxies, so that two runs can share one toxiproxy
	ports   ports
	calls   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	links  map[*Link]struct{}
}

// Open connects to the toxiproxy whose API is at the URL. If the URL is empty, the API is served from inside this process, on a
// loopback listener of its own.
func Open(ctx context.Context, apiURL string) (*Network, error) {
	if apiURL == "" {
		return openOwn(ctx)
	}
	where, host, err := parseURL(apiURL)
	if err != nil {
		return nil, err
	}
	version, err := askVersion(ctx, where)
	if err != nil {
		return nil, err
	}
	n := newNetwork(where, version, host)
	n.where = where
	return n, nil
}

func openOwn(ctx context.Context) (*Network, error) {
	s, err := serve()
	if err != nil {
		return nil, err
	}
	version, err := askVersion(ctx, s.url)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	if v := libraryVersion(); v != "" {
		version = v
	}
	n := newNetwork(s.url, version, "127.0.0.1")
	n.served, n.where = s, "in-process"
	return n, nil
}

func newNetwork(api, version, host string) *Network {
	n := &Network{
		client:  toxiproxy.NewClient(api),
		version: version,
		host:    host,
		listen:  "0.0.0.0",
		run:     "locklab-" + strings.ToLower(rand.Text()[:8]) + "-",
		links:   map[*Link]struct{}{},
	}
	if loopback(host) {
		n.listen = "127.0.0.1"
	}
	return n
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CheckURL says whether a text can be the URL of a toxiproxy.
func CheckURL(apiURL string) error {
	_, _, err := parseURL(apiURL)
	return err
}

// parseURL returns the URL of an API without the slash at its end, and its host.
func parseURL(text string) (api, host string, err error) {
	u, err := url.Parse(text)
	if err == nil && u.User != nil { // no toxiproxy asks for a password, and what it is called stands in results
		return "", "", fmt.Errorf("toxiproxy at %q: leave out who you are", u.Redacted())
	}
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", fmt.Errorf("toxiproxy at %q: not a URL like http://127.0.0.1:8474", text)
	}
	return strings.TrimRight(text, "/"), u.Hostname(), nil
}

// askVersion uses a client of its own, because toxiproxy's takes no context and accepts any answer.
func askVersion(ctx context.Context, api string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/version", nil)
	if err != nil {
		return "", fmt.Errorf("toxiproxy at %s: %w", api, err)
	}
	asker := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := asker.Do(request)
	if err != nil {
		return "", fmt.Errorf("toxiproxy at %s: unreachable: %w", api, rootCause(err))
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, 4<<10))
	if err != nil {
		return "", fmt.Errorf("toxiproxy at %s: %w", api, err)
	}
	var answer struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Version == "" {
		return "", fmt.Errorf("toxiproxy at %s: the answer is not from a toxiproxy (HTTP %d, %.60q)", api, reply.StatusCode, body)
	}
	return answer.Version, nil
}

// rootCause removes the wrapping that repeats the URL.
func rootCause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Version is the version of the toxiproxy.
func (n *Network) Version() string { return n.version }

// Where says where the toxiproxy runs: "in-process", or the URL of its API.
func (n *Network) Where() string { return n.where }

// Close ends the links of this run only, and the API if this process serves it. Later calls do nothing.
func (n *Network) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	links := slices.Collect(maps.Keys(n.links))
	n.mu.Unlock()

	var errs []error
	for _, l := range links {
		errs = append(errs, l.Close())
	}
	n.calls.Wait()
	http.DefaultClient.CloseIdleConnections() // toxiproxy's client uses this one
	if n.served != nil {
		errs = append(errs, n.served.close())
	}
	return errors.Join(errs...)
}
