//go:build linux || darwin

package live_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/scenarios/live"
)

// startLateProxies serves the API of a toxiproxy whose proxies tell a client of the end of its connection late.
func startLateProxies(t *testing.T) (url string) {
	proxies := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	routes := proxies.Routes()
	var mu sync.Mutex // the lab makes several at once
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		before := proxies.Collection.Proxies()
		routes.ServeHTTP(w, r)
		for name, proxy := range proxies.Collection.Proxies() {
			if before[name] == nil {
				_, err := proxy.Toxics.AddToxicJson(strings.NewReader(`{"type": "slow_close", "stream": "downstream", "attributes": {"delay": 300}}`))
				assert.NoError(t, err)
			}
		}
	}))
	t.Cleanup(func() {
		api.Close()
		require.NoError(t, proxies.Collection.Clear())
	})
	return api.URL
}

// TestAPausedClientFindsItsConnectionEnded: after a restart the script goes on when all clients can know of it, however late the proxies tell them.
func TestAPausedClientFindsItsConnectionEnded(t *testing.T) {
	url := startLateProxies(t)
	s := openStage(t, func(cfg *live.Config) { cfg.Toxiproxy = url })
	playLive(t, s, map[string]verbTest{"late": faultVerbs()["a reply to a paused process"]})
}
