package protocol_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/worker/protocol"
)

func TestDecodeMessage(t *testing.T) {
	tests := []struct{ line, wrong string }{
		{`{"id":1,"outcome":"ok"}`, ""},
		{` {"id":1,"outcome":"unknown","error":"time-out","colour":"red"} ` + "\r", ""},
		{`{"id":1,"outcome":"ok","valid_ms":0.5,"fence":7}`, ""},
		{`{"id":1,"unsupported":true}`, ""},
		{`{"lost":"h","why":"expired"}`, ""},
		{`{"valid":"h","valid_ms":100}`, ""},
		{`{"id":1,"outcome":"ok","valid_ms":-20}`, ""},
		{`{"late_ms":712.5}`, ""},

		{``, "not a JSON object"},
		{`null`, "not a JSON object"},
		{`[]`, "not a JSON object"},
		{`Traceback (most recent call last):`, "not a JSON object"},
		{`{"id":1,"outcome":"ok"`, "unexpected end"},
		{`{"id":1,"outcome":"ok"}{"id":2}`, "after top-level value"},
		{`{"id":"1","outcome":"ok"}`, "id is a string, and must be a whole number of 64 bits"},
		{`{"id":1.5,"outcome":"ok"}`, "id is 1.5, and must be a whole number of 64 bits"},
		{`{"id":1,"outcome":"ok","fence":1180591620717411303424}`, "fence is 1180591620717411303424, and must be a whole number of 64 bits"},
		{`{"id":1,"outcome":"ok","valid_ms":1e400}`, "valid_ms is 1e400, and must be a number of 64 bits"},
		{`{"id":1,"outcome":true}`, "outcome is true or false, and must be a string"},
		{`{"id":1,"outcome":"ok","error":3}`, "error is a number, and must be a string"},
		{`{"id":1,"outcome":"ok","hello":[]}`, "hello is a list, and must be an object"},
		{`{"id":1,"outcome":"ok","hello":{"version":2,"verbs":"renew"}}`, "hello.verbs is a string, and must be a list"},
		{`{"id":1,"outcome":"ok","hello":{"version":2,"verbs":[{}]}}`, "hello.verbs is an object, and must be a string"},
		{`{"id":1,"outcome":"ok","hello":{"version":2,"renews":"yes"}}`, "hello.renews is a string, and must be true or false"},
		{`{"id":1,"outcome":"ok","hello":{"version":2,"resends":true}}`, ""},
		{`{"id":1,"outcome":"ok","hello":{"version":2,"resends":"connection"}}`, ""},
		{`{"id":1,"outcome":"ok","hello":{"version":2,"resends":"reply"}}`, `hello.resends is "reply", and must be true, false, "no-reply" or "connection"`},
		{`{"id":1,"outcome":"ok","hello":{"version":2,"resends":["connection"]}}`, `hello.resends is ["connection"], and must be true, false, "no-reply" or "connection"`},
		{`{"id":-1,"outcome":"ok"}`, "ids count from 1"},
		{`{}`, "neither a reply (id) nor a notice"},
		{`{"id":1}`, "no outcome"},
		{`{"id":1,"outcome":"OK"}`, `outcome is "OK"`},
		{`{"id":1,"outcome":"ok","lost":"h"}`, "a notice has no id"},
		{`{"lost":"h","valid":"h","valid_ms":1}`, "either lost or valid"},
		{`{"valid":"h"}`, "has no valid_ms"},
		{`{"lost":"h","hold":-3}`, "the id of an acquire"},
		{`{"valid":"h","valid_ms":1,"hold":3}`, "the id of an acquire"},
		{`{"valid":"h","valid_ms":-1e12}`, "valid_ms is -1e+12"},
		{`{"valid":"h","valid_ms":1e300}`, "valid_ms is 1e+300"},
		{`{"id":1,"outcome":"ok","fence":1}`, ""},
		{`{"id":1,"outcome":"no","fence":0}`, ""},
		{`{"id":1,"outcome":"ok","fence":0}`, "fence is 0, and must be a whole number above 0; a lock without fences leaves it out"},
		{`{"id":1,"outcome":"ok","fence":-7}`, "fence is -7, and must be a whole number above 0; a lock without fences leaves it out"},
		{`{"late_ms":0}`, "neither a reply (id) nor a notice"},
		{`{"late_ms":-1}`, "late_ms is -1"},
		{`{"late_ms":5,"lost":"h"}`, "names no lock"},
		{`{"id":1,"outcome":"ok","late_ms":5}`, "a notice has no id"},
	}
	for _, test := range tests {
		_, err := protocol.DecodeMessage([]byte(test.line))
		if test.wrong == "" {
			assert.NoError(t, err, test.line)
			continue
		}
		assert.ErrorContains(t, err, test.wrong, test.line)
	}
}

func TestDecodeRequest(t *testing.T) {
	tests := []struct{ line, wrong string }{
		{`{"id":1,"do":"exit"}`, ""},
		{`{"id":1,"do":"a verb of the future","with":{"new":"fields"}}`, ""},
		{`{"id":1,"do":"skew","offset_ms":-2000,"rate":0.5}`, ""},

		{`{"do":"exit"}`, "ids count from 1"},
		{`{"id":1}`, "no verb"},
		{`{"id":1,"do":"skew","rate":-1}`, "rate is -1"},
		{`{"id":1,"do":"skew","rate":1e-9}`, "rate is 1e-09"},
		{`{"id":1,"do":"skew","rate":1001}`, "rate is 1001"},
		{`{"id":1,"do":"open","lease_ms":1e12}`, "lease_ms is 1e+12"},
	}
	for _, test := range tests {
		_, err := protocol.DecodeRequest([]byte(test.line))
		if test.wrong == "" {
			assert.NoError(t, err, test.line)
			continue
		}
		assert.ErrorContains(t, err, test.wrong, test.line)
	}
}

func TestDurationsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "duration"))
		text, err := json.Marshal(protocol.MS(d))
		require.NoError(t, err)
		var ms float64
		require.NoError(t, json.Unmarshal(text, &ms))
		assert.InDelta(t, float64(d), float64(protocol.Duration(ms)), 1, "to the nanosecond")
	})
}

// What a decoder accepts, it accepts again as it would be written.
func FuzzDecodeMessage(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"outcome":"ok","hello":{"version":1,"name":"x","verbs":["renew"]}}`, `{"lost":"h"}`, `{"valid":"h","valid_ms":3.25}`, `{"late_ms":40}`,
		`{"id":9,"outcome":"unknown","read":1,"wrote":2}`, `null`, `{`, "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		message, err := protocol.DecodeMessage(line)
		if err != nil {
			return
		}
		if message.ValidMS != nil {
			assert.GreaterOrEqual(t, protocol.Duration(*message.ValidMS), time.Duration(0))
		}
		text, err := json.Marshal(message)
		require.NoError(t, err)
		again, err := protocol.DecodeMessage(text)
		require.NoError(t, err)
		assert.Equal(t, normal(t, message), normal(t, again))
	})
}

func FuzzDecodeRequest(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"do":"init","version":1,"client":"C1","servers":["127.0.0.1:6379"],"timeout_ms":30000}`,
		`{"id":2,"do":"open","handle":"h","lock":"setpx-lua","key":"k","lease_ms":500}`, `{"id":3,"do":"skew","rate":2}`, `[]`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		request, err := protocol.DecodeRequest(line)
		if err != nil {
			return
		}
		text, err := json.Marshal(request)
		require.NoError(t, err)
		again, err := protocol.DecodeRequest(text)
		require.NoError(t, err)
		assert.Equal(t, normal(t, request), normal(t, again))
	})
}

// normal is the JSON of a value, in which an empty list and none look the same.
func normal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
