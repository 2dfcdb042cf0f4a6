package resp

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplies(t *testing.T) {
	tests := []struct {
		name, wire, shown string
		kind              Kind
	}{
		{"simple string", "+OK\r\n", "OK", KindSimple},
		{"error", "-ERR no\r\n", "-ERR no", KindError},
		{"integer", ":42\r\n", "42", KindInteger},
		{"negative integer", ":-42\r\n", "-42", KindInteger},
		{"integer with a plus", ":+42\r\n", "+42", KindInteger},
		{"longest integer", ":-9223372036854775808\r\n", "-9223372036854775808", KindInteger},
		{"string", "$5\r\na\r\nbc\r\n", "a\r\nbc", KindString},
		{"empty string", "$0\r\n\r\n", "", KindString},
		{"null string", "$-1\r\n", "nil", KindString},
		{"array", "*3\r\n:1\r\n$1\r\na\r\n*-1\r\n", "[1 a nil]", KindArray},
		{"empty array", "*0\r\n", "[]", KindArray},
		{"nested array", "*1\r\n*1\r\n:1\r\n", "[[1]]", KindArray},
		{"null", "_\r\n", "nil", KindNull},
		{"bool", "#t\r\n", "t", KindBool},
		{"double", ",-1.5e3\r\n", "-1.5e3", KindDouble},
		{"infinity", ",inf\r\n", "inf", KindDouble},
		{"big number", "(3492890328409238509324850943850943825024385\r\n", "3492890328409238509324850943850943825024385", KindBigNumber},
		{"bulk error", "!6\r\nERR no\r\n", "-ERR no", KindBulkError},
		{"verbatim", "=6\r\ntxt:ab\r\n", "txt:ab", KindVerbatim},
		{"map", "%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n", "[a 1 b 2]", KindMap},
		{"set", "~2\r\n+a\r\n+b\r\n", "[a b]", KindSet},
		{"push", ">2\r\n+message\r\n+b\r\n", "[message b]", KindPush},
		{"attribute before a value", "|1\r\n+ttl\r\n:3\r\n:7\r\n", "7", KindInteger},
		{"attribute within an array", "*2\r\n|1\r\n+ttl\r\n:3\r\n:7\r\n:8\r\n", "[7 8]", KindArray},
		{"streamed string", "$?\r\n;2\r\nab\r\n;1\r\nc\r\n;0\r\n", "abc", KindString},
		{"streamed array", "*?\r\n:1\r\n*?\r\n.\r\n.\r\n", "[1 []]", KindArray},
		{"streamed map", "%?\r\n+a\r\n:1\r\n.\r\n", "[a 1]", KindMap},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, stream := range piecemeal(tt.wire + "+next\r\n") {
				r := NewReader(stream, Limits{})
				reply, err := r.ReadReply()
				require.NoError(t, err, name)
				assert.Equal(t, tt.wire, string(reply.Raw), name)
				assert.Equal(t, tt.kind, reply.Kind, name)
				value, err := Parse(reply.Raw, Limits{})
				require.NoError(t, err, name)
				assert.Equal(t, tt.shown, value.String(), name)
				assert.Equal(t, tt.kind, value.Kind, name)
				if line, ok := reply.Line(); ok {
					assert.Equal(t, tt.shown, string(line), name)
				}
				reply, err = r.ReadReply()
				require.NoError(t, err, name)
				assert.Equal(t, "+next\r\n", string(reply.Raw), name)
				_, err = r.ReadReply()
				assert.ErrorIs(t, err, io.EOF, name)
			}
			for cut := 1; cut < len(tt.wire); cut++ {
				_, err := NewReader(strings.NewReader(tt.wire[:cut]), Limits{}).ReadReply()
				assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut behind %q", tt.wire[:cut])
			}
		})
	}
}

// piecemeal is the same text arriving in several ways.
func piecemeal(text string) map[string]io.Reader {
	return map[string]io.Reader{
		"whole":         strings.NewReader(text),
		"bytes":         iotest.OneByteReader(strings.NewReader(text)),
		"halves":        iotest.HalfReader(strings.NewReader(text)),
		"data with EOF": iotest.DataErrReader(strings.NewReader(text)),
	}
}

func TestRepliesThatAreNoRESP(t *testing.T) {
	for _, wire := range []string{
		"\r\n", "hello\r\n", "+OK\n", ":\r\n", ":-\r\n", ":1x\r\n", ":99999999999999999999\r\n", "$x\r\n", "$-2\r\n", "$1\r\nabc",
		"*x\r\n", "*1\r\n?\r\n", "$?\r\n:1\r\n", "*99999999999999999999\r\n", "@1\r\n",
	} {
		_, err := NewReader(strings.NewReader(wire), Limits{}).ReadReply()
		var syntax SyntaxError
		assert.ErrorAs(t, err, &syntax, "%q", wire)
		assert.ErrorContains(t, err, "no valid RESP", "%q", wire)
	}
}

func TestLimits(t *testing.T) {
	small := Limits{Bulk: 10, Elements: 3, Depth: 2, Line: 20, Message: 64}
	tests := []struct{ name, wire, says string }{
		{"string", "$11\r\n", "string of announced length 11: more than 10"},
		{"string of terabytes", "$1099511627776\r\n", "string of announced length 1099511627776"},
		{"array", "*4\r\n", "array, set or map of announced length 4: more than 3"},
		{"map", "%4\r\n", "announced length 4: more than 3"},
		{"nesting", "*1\r\n*1\r\n*1\r\n", "levels of nesting: more than 2"},
		{"line", "+" + strings.Repeat("x", 30), "line: more than 20"},
		{"line that ends", "+" + strings.Repeat("x", 30) + "\r\n", "line: more than 20"},
		{"message", strings.Repeat("|0\r\n", 20) + ":1\r\n", "message: more than 64"},
		{"streamed string", "$?\r\n;8\r\n01234567\r\n;8\r\n", "piece of a string of announced length 8: more than 2"},
		{"streamed array", "*?\r\n" + strings.Repeat(":1\r\n", 7), "elements of a reply: more than 3"},
		{"nested arrays", "*2\r\n*1\r\n:1\r\n*1\r\n:1\r\n", "elements of a reply: more than 3"},
		{"map of many", "%2\r\n", "elements of a reply: more than 3"},
		{"attributes", "|1\r\n+a\r\n:1\r\n|1\r\n+a\r\n:1\r\n:1\r\n", "elements of a reply: more than 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(tt.wire), small).ReadReply()
			var limit *LimitError
			require.ErrorAs(t, err, &limit)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

func TestAnnouncedSizeTakesNoMemory(t *testing.T) {
	for _, wire := range []string{"$536870912\r\nabc", "*100000\r\n:1\r\n"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := NewReader(strings.NewReader(wire), Limits{}).ReadReply()
		runtime.ReadMemStats(&after)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "%q", wire)
	}
}

func TestLargeStringKeepsTheReaderSmall(t *testing.T) {
	large := "$8388608\r\n" + strings.Repeat("x", 8<<20) + "\r\n"
	r := NewReader(iotest.HalfReader(strings.NewReader(large+"+OK\r\n")), Limits{})
	reply, err := r.ReadReply()
	require.NoError(t, err)
	assert.Len(t, reply.Raw, len(large))
	reply, err = r.ReadReply()
	require.NoError(t, err)
	assert.Equal(t, "+OK\r\n", string(reply.Raw))
	r.begin()
	assert.LessOrEqual(t, cap(r.buf), keepBuffer)
}

// TestParseHead: the beginning is that of the whole message, whose end is checked.
func TestParseHead(t *testing.T) {
	const wire = "*3\r\n*2\r\n$5\r\nabcde\r\n:1\r\n+ok\r\n$?\r\n;2\r\nab\r\n;2\r\ncd\r\n;0\r\n"
	for elements, want := range []string{"[]", "[[]]", "[[abc]]", "[[abc 1]]", "[[abc 1] ok]", "[[abc 1] ok abc]", "[[abc 1] ok abc]"} {
		head, err := ParseHead([]byte(wire), Limits{}, elements, 3)
		require.NoError(t, err)
		assert.Equal(t, want, head.String())
	}
	_, err := ParseHead([]byte(wire[:len(wire)-1]), Limits{}, 1, 3)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestRest(t *testing.T) {
	r := NewReader(strings.NewReader("+OK\r\nraw bytes"), Limits{})
	_, err := r.ReadReply()
	require.NoError(t, err)
	rest, err := io.ReadAll(r.Rest())
	require.NoError(t, err)
	assert.Equal(t, "raw bytes", string(rest))
}

func TestReadErrorIsPassedOn(t *testing.T) {
	broken := errors.New("broken")
	_, err := NewReader(iotest.ErrReader(broken), Limits{}).ReadReply()
	assert.ErrorIs(t, err, broken)
}

func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n:1\r\n", "$3\r\nabc\r\n", "*2\r\n$1\r\na\r\n_\r\n", "%1\r\n+a\r\n#t\r\n", "|1\r\n+a\r\n:1\r\n,1.5\r\n", "$?\r\n;1\r\na\r\n;0\r\n",
		"*?\r\n.\r\n", ">2\r\n+a\r\n+b\r\n", "$1099511627776\r\n", "*-1\r\n",
	} {
		f.Add([]byte(seed))
	}
	limits := Limits{Bulk: 1 << 10, Elements: 64, Depth: 8, Line: 256, Message: 4 << 10}
	f.Fuzz(func(t *testing.T, wire []byte) {
		whole := readReplies(t, bytes.NewReader(wire), limits)
		pieces := readReplies(t, iotest.OneByteReader(bytes.NewReader(wire)), limits)
		require.Equal(t, whole, pieces)
		require.True(t, bytes.HasPrefix(wire, bytes.Join(whole, nil)), "the bytes are not those that came")
	})
}

// readReplies reads until an error; it checks that what can be read can also be taken apart.
func readReplies(t *testing.T, stream io.Reader, limits Limits) [][]byte {
	r := NewReader(stream, limits)
	var all [][]byte
	for {
		reply, err := r.ReadReply()
		if err != nil {
			return all
		}
		value, err := Parse(reply.Raw, limits)
		require.NoError(t, err)
		require.Equal(t, reply.Kind, value.Kind)
		all = append(all, bytes.Clone(reply.Raw))
	}
}
