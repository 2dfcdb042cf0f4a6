package protocol

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestResends: each spelling means one thing, which is written so that older clients and labs read it.
func TestResends(t *testing.T) {
	for text, want := range map[string]struct {
		means   Resends
		written string
	}{
		`{"version":2,"name":"x"}`:                        {ResendsNothing, `{"version":2,"name":"x"}`},
		`{"version":2,"name":"x","resends":false}`:        {ResendsNothing, `{"version":2,"name":"x"}`},
		`{"version":2,"name":"x","resends":true}`:         {ResendsUnanswered, `{"version":2,"name":"x","resends":true}`},
		`{"version":2,"name":"x","resends":"no-reply"}`:   {ResendsUnanswered, `{"version":2,"name":"x","resends":true}`},
		`{"version":2,"name":"x","resends":"connection"}`: {ResendsBroken, `{"version":2,"name":"x","resends":"connection"}`},
	} {
		var hello Hello
		require.NoError(t, json.Unmarshal([]byte(text), &hello))
		assert.Equal(t, want.means, hello.Resends, text)
		written, err := json.Marshal(hello)
		require.NoError(t, err)
		assert.Equal(t, want.written, string(written))
	}
}
