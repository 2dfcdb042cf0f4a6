package tap

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/resp"
)

// BenchmarkRoundTrip shows what stands on the way costs: SET on a watched key, with one connection and with several.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("miniredis", func(b *testing.B) { benchServer(b, startMini(b)) })
	b.Run("redis", func(b *testing.B) { benchServer(b, startRedis(b)) })
}

// BenchmarkShares takes every route in turn, so that all meet the same noise, and each time in another order, because a trip also pays
// for what the one before has left running. It reports medians: what toxiproxy and the tap
// each add to the bare connection, their ratio, which is to be at most 1, and what the tap adds behind toxiproxy.
func BenchmarkShares(b *testing.B) {
	b.Run("miniredis", func(b *testing.B) { benchShares(b, startMini(b)) })
	b.Run("redis", func(b *testing.B) { benchShares(b, startRedis(b)) })
}

func benchShares(b *testing.B, server string) {
	routes := routesTo(b, server)
	trips := make([]func(), len(routes))
	times := make([][]float64, len(routes))
	for i, route := range routes {
		trips[i] = roundTrips(b, route.addr)
	}
	for b.Loop() {
		for _, i := range rand.Perm(len(trips)) {
			start := time.Now()
			trips[i]()
			times[i] = append(times[i], float64(time.Since(start).Nanoseconds()))
		}
	}
	median := map[string]float64{}
	for i, route := range routes {
		slices.Sort(times[i])
		median[route.name] = times[i][len(times[i])/2]
	}
	proxy, tap := median["toxiproxy"]-median["direct"], median["tap"]-median["direct"]
	b.ReportMetric(median["direct"], "direct-ns")
	b.ReportMetric(proxy, "toxiproxy-adds-ns")
	b.ReportMetric(tap, "tap-adds-ns")
	b.ReportMetric(tap/proxy, "tap/toxiproxy")
	b.ReportMetric(median["toxiproxy+tap"]-median["toxiproxy"], "tap-behind-toxiproxy-adds-ns")
	b.ReportMetric(median["toxiproxy+tap+questions"]-median["toxiproxy+tap"], "questions-add-ns")
}

type route struct{ name, addr string }

func routesTo(b *testing.B, server string) []route {
	return []route{
		{"direct", server},
		{"toxiproxy", proxyBefore(b, server)},
		{"tap", tapBefore(b, server, false)},
		{"toxiproxy+tap", proxyBefore(b, tapBefore(b, server, false))},
		{"toxiproxy+tap+questions", proxyBefore(b, tapBefore(b, server, true))},
	}
}

func benchServer(b *testing.B, server string) {
	routes := routesTo(b, server)
	for _, route := range routes {
		b.Run(route.name, func(b *testing.B) {
			b.ReportAllocs()
			trip := roundTrips(b, route.addr)
			for b.Loop() {
				trip()
			}
		})
	}
	for _, route := range routes {
		b.Run(route.name+"/8 connections", func(b *testing.B) {
			b.SetParallelism(4) // times the cores
			b.RunParallel(func(pb *testing.PB) {
				trip := roundTrips(b, route.addr)
				for pb.Next() {
					trip()
				}
			})
		})
	}
}

func roundTrips(b *testing.B, addr string) func() {
	c := dialRaw(b, addr)
	require.NoError(b, c.SetDeadline(time.Time{}))
	request := resp.AppendCommand(nil, "SET", "lock", "token", "PX", "30000")
	return func() {
		if _, err := c.Write(request); err != nil {
			b.Error(err)
			return
		}
		if _, err := c.replies.ReadReply(); err != nil {
			b.Error(err)
		}
	}
}

func tapBefore(b *testing.B, server string, questions bool) string {
	start := time.Now()
	tapped, err := New(context.Background(), Config{
		Server: "redis", Upstream: server, StateProbes: questions,
		Watch:   func(key string) bool { return key == "lock" },
		Since:   func() time.Duration { return time.Since(start) },
		Record:  func(history.Event) {},
		Current: func(string) (history.Op, int64) { return history.OpAcquire, 1 },
	})
	require.NoError(b, err)
	b.Cleanup(func() { tapped.Close() })
	addr, err := tapped.Listen("C1")
	require.NoError(b, err)
	return addr
}

func proxyBefore(b *testing.B, upstream string) string {
	metrics := toxiproxy.NewMetricsContainer(prometheus.NewRegistry())
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(metrics, zerolog.Nop()), "proxy", "127.0.0.1:0", upstream)
	require.NoError(b, proxy.Start())
	b.Cleanup(proxy.Stop)
	return proxy.Listen
}
