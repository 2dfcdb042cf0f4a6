package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
)

// The streams of a proxy, by toxiproxy's names.
const (
	upstream   = "upstream"   // requests
	downstream = "downstream" // replies
)

// forever is the latency of a partition.
const forever = 20 * 24 * time.Hour

// addToxic adds a toxic and checks that the API lists it; then every connection of the proxy has it. Toxics are removed and added, never
// updated: an update races with traffic.
func (l *Link) addToxic(ctx context.Context, kind, name, stream string, attributes toxiproxy.Attributes) error {
	var there toxiproxy.Toxics
	err := l.call(ctx, func() error {
		if _, err := l.proxy.AddToxic(name, kind, stream, 1, attributes); err != nil {
			return err
		}
		var err error
		there, err = l.proxy.Toxics()
		return err
	})
	if err != nil {
		return fmt.Errorf("add %s %s: %w", stream, kind, err)
	}
	found := slices.ContainsFunc(there, func(t toxiproxy.Toxic) bool {
		return t.Name == name && t.Type == kind && t.Stream == stream
	})
	if !found {
		return fmt.Errorf("add %s %s: toxiproxy does not list it", stream, kind)
	}
	return nil
}

func (l *Link) removeToxic(ctx context.Context, name string) error {
	if err := l.call(ctx, func() error { return l.proxy.RemoveToxic(name) }); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// slow delays each chunk of the stream by d. A second toxic follows, a gate without latency: adding a toxic makes the last one before it
// pass on the chunk that it holds, and dropSlowed must not pass on a chunk of the first.
func (l *Link) slow(ctx context.Context, stream string, d time.Duration) error {
	milliseconds := (d + time.Millisecond - 1) / time.Millisecond
	err := l.addToxic(ctx, "latency", "slow-"+stream, stream, toxiproxy.Attributes{"latency": int64(milliseconds)})
	if err != nil {
		return err
	}
	l.gated++
	gate := fmt.Sprintf("gate-%s-%d", stream, l.gated)
	if err := l.addToxic(ctx, "latency", gate, stream, toxiproxy.Attributes{"latency": 0}); err != nil {
		return err
	}
	l.gates[stream] = append(l.gates[stream], gate)
	return nil
}

// unslow delivers what slow holds, in order, and ends the delay. It keeps the newest gate and removes older ones: on a dead connection the
// last toxic never passes on its chunk, and toxiproxy 2.12 never removes it (Shopify/toxiproxy#558).
func (l *Link) unslow(ctx context.Context, stream string) error {
	if err := l.removeToxic(ctx, "slow-"+stream); err != nil {
		return err
	}
	return l.removeGates(ctx, stream, 1)
}

// removeGates removes the oldest gates of a stream until left remain.
func (l *Link) removeGates(ctx context.Context, stream string, left int) error {
	for len(l.gates[stream]) > left {
		if err := l.removeToxic(ctx, l.gates[stream][0]); err != nil {
			return err
		}
		l.gates[stream] = l.gates[stream][1:]
	}
	return nil
}

// dropSlowed drops what slow holds, and everything that comes later. A toxic of a deleted proxy would keep its goroutines for as long as
// its latency.
func (l *Link) dropSlowed(ctx context.Context, stream string) error {
	err := l.addToxic(ctx, "timeout", "sink-"+stream, stream, toxiproxy.Attributes{"timeout": 0})
	return errors.Join(err, l.removeToxic(ctx, "slow-"+stream))
}
