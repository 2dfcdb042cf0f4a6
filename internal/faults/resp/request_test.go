package resp

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRequests(t *testing.T) {
	tests := []struct {
		name, wire string
		args       []string
	}{
		{"array", "*2\r\n$3\r\nGET\r\n$4\r\nlock\r\n", []string{"GET", "lock"}},
		{"binary argument", "*2\r\n$4\r\nECHO\r\n$5\r\n\x00\r\n\xff$\r\n", []string{"ECHO", "\x00\r\n\xff$"}},
		{"empty argument", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", []string{"ECHO", ""}},
		{"empty array", "*0\r\n", nil},
		{"null array", "*-1\r\n", nil},
		{"inline", "SET lock  token\r\n", []string{"SET", "lock", "token"}},
		{"inline without CR", "PING\n", []string{"PING"}},
		{"empty line", "\r\n", nil},
		{"inline with quotes", `SET "a b\x41\n\"" 'it\'s' e"f"` + "\r\n", []string{"SET", "a bA\n\"", "it's", "ef"}},
		{"inline with empty quotes", `SET a ""` + "\n", []string{"SET", "a", ""}},
		{"unbalanced quotes", `SET "a b` + "\r\n", []string{`SET "a b`}},
		{"quotes that end within a word", `SET "a"b` + "\r\n", []string{`SET "a"b`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, stream := range piecemeal(tt.wire + "PING\r\n") {
				r := NewReader(stream, Limits{})
				request, err := r.ReadRequest()
				require.NoError(t, err, name)
				assert.Equal(t, tt.wire, string(request.Raw), name)
				assert.Equal(t, tt.args, texts(request.Args), name)
				request, err = r.ReadRequest()
				require.NoError(t, err, name)
				assert.Equal(t, []string{"PING"}, texts(request.Args), name)
				_, err = r.ReadRequest()
				assert.ErrorIs(t, err, io.EOF, name)
			}
		})
	}
}

func texts(args [][]byte) []string {
	var all []string
	for _, arg := range args {
		all = append(all, string(arg))
	}
	return all
}

func TestRequestsThatCannotBeRead(t *testing.T) {
	tests := []struct{ name, wire, says string }{
		{"no count", "*x\r\n", `request of "x" arguments`},
		{"too many arguments", "*2000000\r\n", "request of announced 2000000 arguments: more than 10000"},
		{"argument of terabytes", "*1\r\n$1099511627776\r\n", "argument of announced length 1099511627776: more than 536870912"},
		{"argument of another type", "*1\r\n:1\r\n", `an argument begins with ":1", not with $`},
		{"null argument", "*1\r\n$-1\r\n", "an argument is null"},
		{"argument longer than announced", "*1\r\n$1\r\nabc\r\n", `a string of 1 bytes is followed by "bc"`},
		{"endless line", strings.Repeat("x", 2<<20), "line: more than 65536"},
		{"inline with too many arguments", strings.Repeat("x ", 10_001) + "\r\n", "arguments of an inline request: more than 10000"},
		{"cut", "*1\r\n$4\r\nPI", "unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(tt.wire), Limits{}).ReadRequest()
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

func TestCommandsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pipeline := rapid.SliceOf(rapid.SliceOfN(rapid.String(), 1, 10)).Draw(t, "pipeline")
		var wire []byte
		for _, args := range pipeline {
			wire = AppendCommand(wire, args...)
		}
		r := NewReader(iotest.HalfReader(bytes.NewReader(wire)), Limits{})
		for _, args := range pipeline {
			request, err := r.ReadRequest()
			require.NoError(t, err)
			require.Equal(t, args, texts(request.Args))
		}
		_, err := r.ReadRequest()
		require.ErrorIs(t, err, io.EOF)
	})
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"*1\r\n$4\r\nPING\r\n", "PING\r\nSET \"a b\" 'c'\n", "*0\r\n\r\n", "*1\r\n$99999999999\r\n", "*-1\r\n", "SET \"\\x4\\",
	} {
		f.Add([]byte(seed))
	}
	limits := Limits{Bulk: 1 << 10, Elements: 64, Line: 256, Message: 4 << 10}
	f.Fuzz(func(t *testing.T, wire []byte) {
		whole, args := readRequests(bytes.NewReader(wire), limits)
		pieces, again := readRequests(iotest.OneByteReader(bytes.NewReader(wire)), limits)
		require.Equal(t, whole, pieces)
		require.Equal(t, args, again)
		require.True(t, strings.HasPrefix(string(wire), strings.Join(whole, "")), "the bytes are not those that came")
	})
}

func readRequests(stream io.Reader, limits Limits) (raw []string, args [][]string) {
	r := NewReader(stream, limits)
	for {
		request, err := r.ReadRequest()
		if err != nil {
			return raw, args
		}
		raw, args = append(raw, string(request.Raw)), append(args, texts(request.Args))
	}
}
