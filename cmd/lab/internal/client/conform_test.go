package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// TestHeadOfConformance: the screen says once which lock it is about, and in its own words only where hello has some.
func TestHeadOfConformance(t *testing.T) {
	for about, want := range map[string]string{"": "mylock: 0 of 0", "SET NX PX": "mylock (SET NX PX): 0 of 0"} {
		subject, err := play.Subject{}.Introduced(protocol.Hello{Version: protocol.Version, Name: "mylock", About: about})
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, writeConformance(&b, lab.Conformance{Subject: subject}, "./mylock"))
		require.True(t, strings.HasPrefix(b.String(), want), b.String())
	}
}
