package worker_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// The session in docs/tables/protocol.md is what happens.
func TestDocumentedSession(t *testing.T) {
	page, err := os.ReadFile(repositoryFile("docs/tables/protocol.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```session\n")
	require.True(t, found)
	session, _, found := strings.Cut(rest, "```")
	require.True(t, found)

	addr, c := startMini(t), inProcess(t)
	answers := map[int64]<-chan protocol.Message{}
	for line := range strings.Lines(session) {
		if text, ok := strings.CutPrefix(line, "→ "); ok {
			req, err := protocol.DecodeRequest([]byte(text))
			require.NoError(t, err, line)
			if req.Do == protocol.Init {
				req.Servers, req.Resource = []string{addr}, addr
			}
			answers[req.ID], err = c.conn.Send(req)
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSpace(text), documented(t, text), "as the lab writes it")
			continue
		}
		text, ok := strings.CutPrefix(line, "← ")
		require.True(t, ok, line)
		want, err := protocol.DecodeMessage([]byte(text))
		require.NoError(t, err, line)
		answer, asked := answers[want.ID]
		if !asked {
			answer = c.notices
		}
		assert.Equal(t, timeless(want), timeless(c.wait(answer)), line)
	}
}

// documented is a request as the lab would write it.
func documented(t *testing.T, text string) string {
	t.Helper()
	req, err := protocol.DecodeRequest([]byte(text))
	require.NoError(t, err)
	line, err := json.Marshal(req)
	require.NoError(t, err)
	return string(line)
}

// timeless is a message without what differs from run to run, and without its place.
func timeless(m protocol.Message) protocol.Message {
	m.Line = 0
	if m.ValidMS != nil {
		m.ValidMS = new(float64)
	}
	if m.Hello != nil {
		hello := *m.Hello
		hello.About = ""
		m.Hello = &hello
	}
	return m
}
