package figures

import (
	"bytes"
	"encoding/xml"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/report/terminal"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// measured is a record with the facts that all have.
func measured(kind bench.Kind) *bench.Record {
	return &bench.Record{
		Version: bench.Version, Kind: kind, ID: "bench-20260101-120000-0001", Started: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Took: 61 * time.Second,
		Finished: true, Lab: "(devel)", Platform: "linux/amd64, go1.26", Cores: 2, Server: "redis-server 7.0.15 (started by the lab)",
		Clients: "goroutines", Path: bench.Straight, Command: []string{"bench", string(kind)},
	}
}

func spread(p50, p90, p99 time.Duration) bench.Spread {
	return bench.Spread{N: 100, Mean: (p50 + p90) / 2, P50: p50, P90: p90, P99: p99, Max: 2 * p99}
}

func sampleMarket() *bench.Record {
	r := measured(bench.KindMarket)
	r.Market = &bench.Market{For: 5 * time.Second, Rounds: 2, Lock: "setnx-watch", Wait: "sleep:1ms", Article: bench.ArticleMarket(), Cells: []bench.MarketCell{
		{Round: 1, Guard: bench.Watch, Crowd: bench.Crowd{Sellers: 1, Buyers: 1}, Listed: 9000, Bought: 800, Tried: 5000, Wait: 8 * ms, Left: 8200},
		{Round: 1, Guard: bench.OneLock, Crowd: bench.Crowd{Sellers: 1, Buyers: 1}, Listed: 6000, Bought: 5900, Wait: 700 * us, Left: 100},
		{Round: 1, Guard: bench.PerItem, Crowd: bench.Crowd{Sellers: 1, Buyers: 1}, Listed: 8000, Bought: 7000, Wait: 600 * us, Left: 1000},
		{Round: 1, Guard: bench.Watch, Crowd: bench.Crowd{Sellers: 5, Buyers: 1}, Listed: 30000, Tried: 3000, Failed: 1, Left: 30000},
		{Round: 1, Guard: bench.OneLock, Crowd: bench.Crowd{Sellers: 5, Buyers: 1}, Listed: 12000, Bought: 2500, Tried: 1, Wait: 2 * ms, Left: 9500},
		{Round: 1, Guard: bench.PerItem, Crowd: bench.Crowd{Sellers: 5, Buyers: 1}, Listed: 25000, Bought: 4500, Wait: ms, Left: 20501},
		{Round: 2, Guard: bench.Watch, Crowd: bench.Crowd{Sellers: 1, Buyers: 1}, Listed: 6750, Bought: 400, Tried: 5000, Wait: 8 * ms, Left: 6350},
		{Round: 2, Guard: bench.OneLock, Crowd: bench.Crowd{Sellers: 1, Buyers: 1}, Listed: 4500, Bought: 2950, Wait: 700 * us, Left: 1550},
		{Round: 2, Guard: bench.PerItem, Crowd: bench.Crowd{Sellers: 1, Buyers: 1}, Listed: 6000, Bought: 3500, Wait: 600 * us, Left: 2500},
		{Round: 2, Guard: bench.Watch, Crowd: bench.Crowd{Sellers: 5, Buyers: 1}, Listed: 22500, Tried: 3000, Failed: 1, Left: 22500},
		{Round: 2, Guard: bench.OneLock, Crowd: bench.Crowd{Sellers: 5, Buyers: 1}, Listed: 9000, Bought: 1250, Tried: 1, Wait: 2 * ms, Left: 7750},
		{Round: 2, Guard: bench.PerItem, Crowd: bench.Crowd{Sellers: 5, Buyers: 1}, Listed: 18750, Bought: 2250, Wait: ms, Left: 16500},
	}}
	return r
}

func sampleWaiting() *bench.Record {
	r := measured(bench.KindWaiting)
	r.Finished = false
	r.Waiting = &bench.Waiting{
		Requests: 2000, AtOnce: 1000, Within: 30 * time.Second, Waiters: 100, For: 3 * time.Second, Absent: []bench.Absent{{Lock: "zookeeper's watch", Why: "no server"}},
		Sale: []bench.WaitingCell{
			{Way: "spin-yield:600ms", Lock: "setpx-lua", Stock: bench.InMemory, Granted: 1950, Failed: 50, Sold: 1950, Time: spread(20*time.Second, 28*time.Second, 30*time.Second), Fairness: 0.6, Commands: 1_950_000},
			{Way: "sleep:200ms", Lock: "setpx-lua", Stock: bench.InMemory, Granted: 2000, Sold: 1999, Time: spread(2*ms, 2*time.Second, 9*time.Second), Fairness: 0.3, Commands: 44_000},
			{Way: "wake", Lock: "redisson-fair", Stock: bench.InStore, Granted: 2000, Sold: 2000, Time: spread(time.Second, 2*time.Second, 2100*ms), Fairness: 0.9, Commands: 10_000},
		},
		Held: []bench.WaitingCell{
			{Way: bench.Poll, Lock: "setpx-lua", Hold: ms, Granted: 1500, Time: spread(us, 500*ms, 2*time.Second), Fairness: 0.2, Commands: 6000},
			{Way: "wake", Lock: "redisson", Hold: ms, Granted: 300, Failed: 2, Time: spread(900*ms, 950*ms, time.Second), Fairness: 0.9, Commands: 30_000},
			{Way: bench.Poll, Lock: "setpx-lua", Hold: 20 * ms, Granted: 150, Time: spread(time.Second, 4*time.Second, 5*time.Second), Fairness: 0.5, Commands: 6000},
		},
	}
	return r
}

func sampleLocks() *bench.Record {
	rate := func(n float64, share float64) *bench.LockRate {
		return &bench.LockRate{PerSecond: n, Share: share, Time: spread(200*us, 300*us, 2*ms), Commands: 2}
	}
	check := spread(90*us, 120*us, 500*us)
	failing := rate(10, 0.002)
	failing.Failed = 3
	r := measured(bench.KindLocks)
	r.Locks = &bench.Locks{
		For: 200 * ms, Rounds: 3, Clients: 8, Plain: bench.LockRow{Lock: "SET, DEL", Servers: 1, Alone: rate(5000, 1), Why: "nobody waits"}, Absent: bench.Planned(),
		Rows: []bench.LockRow{
			{Lock: "local", Alone: rate(2_000_000, 400), Why: "each client has a lock of its own"},
			{Lock: "setpx-lua", Servers: 1, Alone: rate(4500, 0.9), Together: rate(1500, 0.3), Check: &check},
			{Lock: "redlock", Servers: 5, Alone: rate(900, 0.18), Together: failing},
		},
	}
	return r
}

func sampleUpdates() *bench.Record {
	r := measured(bench.KindUpdates)
	r.Updates = &bench.Updates{
		Clients: 5, Lease: 2 * time.Second, For: time.Minute, Every: 5 * time.Second, Pause: 3 * time.Second, Think: 100 * ms, Rest: 50 * ms, Wait: "sleep:20ms",
		Seeds: []int64{1, 2}, Absent: bench.Planned(), Rows: []bench.UpdatesRow{
			{
				Lock:      "setpx-lua",
				Unguarded: []bench.UpdatesCount{{Seed: 1, Acked: 400, Lost: 40, Pauses: 11}, {Seed: 2, Acked: 420, Failed: 1, Pauses: 11}},
				Guarded:   []bench.UpdatesCount{{Seed: 1, Acked: 390, Refused: 4, Pauses: 11}, {Seed: 2, Acked: 410, Pauses: 11}},
			},
			{
				Lock: "fenced", OwnFence: true,
				Unguarded: []bench.UpdatesCount{{Seed: 1, Acked: 400, Lost: 4}},
				Guarded:   []bench.UpdatesCount{{Seed: 1, Acked: 400, Lost: 1, Refused: 1}},
			},
		},
	}
	return r
}

func samples() map[string]*bench.Record {
	return map[string]*bench.Record{
		"bench-market": sampleMarket(), "bench-waiting": sampleWaiting(), "bench-locks": sampleLocks(), "bench-updates": sampleUpdates(),
	}
}

func TestBenchGoldens(t *testing.T) {
	for name, r := range samples() {
		t.Run(name, func(t *testing.T) {
			var text, page bytes.Buffer
			require.NoError(t, Terminal(&text, r, "runs/"+r.ID, terminal.Options{}))
			reporttest.Golden(t, name, text.Bytes())
			require.NoError(t, HTML(&page, r))
			reporttest.Golden(t, name+"-html", page.Bytes())
		})
	}
}

// TestBenchFits: in a terminal of 80 columns no line is longer, and no sign is lost by it.
func TestBenchFits(t *testing.T) {
	for name, r := range samples() {
		var text bytes.Buffer
		require.NoError(t, Terminal(&text, r, "", terminal.Options{Width: 80}))
		for line := range strings.Lines(text.String()) {
			if !strings.Contains(name, "locks") && !strings.Contains(name, "updates") { // wide tables may stick out
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, "%s: %s", name, line)
			}
		}
	}
}

// TestPlotsAreXML: the drawings can be read by any reader of SVG, whatever the labels are.
func TestPlotsAreXML(t *testing.T) {
	drawn := 0
	for _, r := range samples() {
		for _, s := range sections(r) {
			for _, p := range s.Plots {
				p.Bars = append(p.Bars, bar{Label: `<b>&"'`, Values: []float64{1}, Text: "<"})
				decoder := xml.NewDecoder(strings.NewReader(svg(p)))
				for {
					_, err := decoder.Token()
					if err == io.EOF {
						break
					}
					require.NoError(t, err)
				}
				drawn++
			}
		}
	}
	assert.Greater(t, drawn, 8)
}

// TestAxis: a greater value has no shorter bar, and none leaves the room.
func TestAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e7), 1, 20).Draw(t, "values")
		a := axisOf(plot{Log: rapid.Bool().Draw(t, "log"), Bars: []bar{{Values: values}}})
		room := rapid.IntRange(1, 200).Draw(t, "room")
		for _, v := range values {
			assert.GreaterOrEqual(t, a.at(v, room), 0)
			assert.LessOrEqual(t, a.at(v, room), room)
			for _, w := range values {
				if v < w {
					assert.LessOrEqual(t, a.at(v, room), a.at(w, room))
				}
			}
		}
	})
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 100000: "100,000"} {
		assert.Equal(t, want, thousands(n))
	}
	for x, want := range map[float64]string{
		0: "0.00", 0.00001: "< 0.0001", 0.0029: "0.0029", 0.0666: "0.067", 0.19: "0.19", 0.999: "1.0", 5.32: "5.3", 14.4: "14", 99.6: "100", 316.2: "316", 12345: "12,345",
	} {
		assert.Equal(t, want, decimal(x), "%v", x)
	}
	for d, want := range map[time.Duration]string{0: "0.0ms", 325 * us: "325µs", 1500 * us: "1.5ms", 150 * ms: "150ms", 3 * time.Second: "3s"} {
		assert.Equal(t, want, shortTime(d))
	}
}

func TestBenchFiles(t *testing.T) {
	dir := t.TempDir()
	r := sampleMarket()
	require.NoError(t, Create(dir, r))
	require.ErrorIs(t, Create(dir, r), fs.ErrExist, "another measurement has it")
	require.NoError(t, Write(dir, r))
	read, err := Read(dir)
	require.NoError(t, err)
	assert.Equal(t, r, read)
	assert.FileExists(t, filepath.Join(dir, Page))

	require.NoError(t, os.WriteFile(filepath.Join(dir, File), []byte(`{"v":9}`), 0o644))
	_, err = Read(dir)
	require.ErrorContains(t, err, "version 9 of bench.json; this lab reads version 2")
	require.NoError(t, os.WriteFile(filepath.Join(dir, File), []byte(`no`), 0o644))
	_, err = Read(dir)
	require.ErrorContains(t, err, "not the bench.json of a measurement")
	_, err = Read(t.TempDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}
