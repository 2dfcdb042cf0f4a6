package probe

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/resp"
)

// replies is a server that answers with what is written down, whatever it is asked.
type replies struct {
	from *resp.Reader
	sent []string
}

func repliesOf(text string) *replies {
	return &replies{from: resp.NewReader(strings.NewReader(text), resp.Limits{Bulk: 1 << 16, Elements: 1 << 10})}
}

func (r *replies) Send(args ...string) { r.sent = append(r.sent, strings.Join(args, " ")) }

func (r *replies) Receive() (resp.Value, error) {
	reply, err := r.from.ReadReply()
	if err != nil {
		return resp.Value{}, err
	}
	return resp.Parse(reply.Raw, resp.Limits{})
}

func TestStates(t *testing.T) {
	states := make([]history.State, 2)
	server := repliesOf(":5\r\n$1\r\na\r\n:-1\r\n-WRONGTYPE no\r\n+hash\r\n*4\r\n$1\r\nb\r\n$1\r\n1\r\n$1\r\na\r\n$1\r\n2\r\n")
	require.NoError(t, States(server, []string{"k", "h"}, states))
	assert.Equal(t, []history.State{{Type: "string", Value: "a", TTL: TTL(5)}, {Type: "hash", Value: "[a 2 b 1]"}}, states)
	assert.Equal(t, []string{"PTTL k", "GET k", "PTTL h", "GET h", "TYPE h", "HGETALL h"}, server.sent)
	require.ErrorIs(t, States(repliesOf(""), []string{"k"}, states), io.EOF)
}

// FuzzStates: no answers of a server make the probe panic.
func FuzzStates(f *testing.F) {
	f.Add(":5\r\n$1\r\na\r\n")
	f.Add(":-1\r\n-WRONGTYPE no\r\n+hash\r\n*4\r\n$1\r\nb\r\n$1\r\n1\r\n$1\r\na\r\n$1\r\n2\r\n")
	f.Add(":-1\r\n-WRONGTYPE no\r\n+set\r\n*3\r\n$1\r\nb\r\n*0\r\n_\r\n")
	f.Add(":0\r\n-WRONGTYPE no\r\n+odd\r\n%1\r\n$1\r\nb\r\n~1\r\n#t\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		states := make([]history.State, 1)
		if err := States(repliesOf(text), []string{"k"}, states); err == nil {
			require.GreaterOrEqual(t, states[0].TTL, TTL(-1))
		}
		_, _ = Values(repliesOf(text), "k")
	})
}
