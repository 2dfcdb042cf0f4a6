package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// onThree is a client with redlock on three servers, each behind a gate.
func onThree(t *testing.T, lease time.Duration) (*client, []*gate) {
	t.Helper()
	c := inProcess(t)
	var gates []*gate
	req := protocol.Request{Do: protocol.Init, Version: protocol.Version, Client: "C1"}
	for range 3 {
		g := newGate(t, startMini(t))
		gates = append(gates, g)
		req.Servers = append(req.Servers, g.addr)
	}
	require.Equal(t, protocol.OK, c.ask(req).Outcome)
	c.open("redlock", lease)
	return c, gates
}

func TestSeveralServers(t *testing.T) {
	c, gates := onThree(t, long)
	answer := c.ask(protocol.Request{Do: protocol.Acquire, Handle: "h"})
	require.Equal(t, protocol.OK, answer.Outcome)
	require.NotNil(t, answer.ValidMS)
	assert.Equal(t, protocol.OK, c.do(protocol.Release))
	gates[2].cut()
	reconnect := protocol.Request{Do: protocol.Reconnect, Servers: []string{gates[2].addr}}
	assert.Equal(t, protocol.OK, c.ask(reconnect).Outcome)
	assert.Equal(t, protocol.OK, c.do(protocol.Acquire))
}

// A server that hangs costs the bound and no more, and its connection is not used again.
func TestOneServerHangs(t *testing.T) {
	const lease = 3 * time.Second // a tenth of it for each server
	c, gates := onThree(t, lease)
	gates[1].requests.set(true)
	began := time.Now()
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	took := time.Since(began)
	assert.GreaterOrEqual(t, took, lease/10)
	assert.Less(t, took, lease/2)
	assert.Equal(t, protocol.OK, c.do(protocol.Release))

	// A reconnect to the others does not wait for the one that hangs.
	others := protocol.Request{Do: protocol.Reconnect, Servers: []string{gates[0].addr, gates[2].addr}}
	assert.Equal(t, protocol.OK, c.ask(others).Outcome)
	gates[1].requests.set(false)
	assert.Equal(t, protocol.OK, c.do(protocol.Acquire))
}

func TestAMajorityHangs(t *testing.T) {
	c, gates := onThree(t, 3*time.Second)
	for _, g := range gates[:2] {
		g.requests.set(true)
	}
	assert.Equal(t, protocol.Unknown, c.do(protocol.Acquire), "both may carry it out later")
}
