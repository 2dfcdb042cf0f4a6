package export

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// ednReader reads EDN, as far as Jepsen's histories have it: nil, booleans, whole numbers, keywords, strings, vectors and maps.
type ednReader struct {
	text []rune
	pos  int
}

func (r *ednReader) peek() rune {
	for r.pos < len(r.text) && (r.text[r.pos] == ' ' || r.text[r.pos] == ',' || r.text[r.pos] == '\n') {
		r.pos++
	}
	if r.pos == len(r.text) {
		return 0
	}
	return r.text[r.pos]
}

func (r *ednReader) read() (any, error) {
	switch c := r.peek(); {
	case c == '{':
		list, err := r.list('}')
		m := map[string]any{}
		for i := 0; i+1 < len(list); i += 2 {
			key, ok := list[i].(keyword)
			if _, again := m[string(key)]; !ok || again {
				return nil, fmt.Errorf("key %v", list[i])
			}
			m[string(key)] = list[i+1]
		}
		if len(list)%2 != 0 {
			return nil, fmt.Errorf("a map of %d forms", len(list))
		}
		return m, err
	case c == '[':
		return r.list(']')
	case c == '"':
		return r.string()
	default:
		return r.token()
	}
}

func (r *ednReader) list(end rune) (list []any, err error) {
	for r.pos++; r.peek() != end; {
		if r.peek() == 0 {
			return nil, fmt.Errorf("no %c", end)
		}
		value, err := r.read()
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	r.pos++
	return list, nil
}

func (r *ednReader) token() (any, error) {
	start := r.pos
	for r.pos < len(r.text) && !strings.ContainsRune(" ,\n{}[]\"", r.text[r.pos]) {
		r.pos++
	}
	switch word := string(r.text[start:r.pos]); {
	case word == "nil":
		return nil, nil
	case word == "true", word == "false":
		return word == "true", nil
	case len(word) > 1 && word[0] == ':' && strings.Trim(word[1:], "abcdefghijklmnopqrstuvwxyz-") == "":
		return keyword(word[1:]), nil
	default:
		return strconv.ParseInt(word, 10, 64)
	}
}

func (r *ednReader) string() (any, error) {
	var units []uint16
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; {
		case c == '"':
			r.pos++
			return string(utf16.Decode(units)), nil
		case c != '\\':
			units = append(units, utf16.Encode([]rune{c})...)
		case r.text[r.pos+1] == 'u':
			n, err := strconv.ParseUint(string(r.text[r.pos+2:r.pos+6]), 16, 16)
			if err != nil {
				return nil, err
			}
			units = append(units, uint16(n))
			r.pos += 5
		default:
			r.pos++
			units = append(units, uint16(r.text[r.pos]))
		}
	}
	return nil, fmt.Errorf("a string has no end")
}

// readEDN reads a history as Jepsen does: an invocation, and the completion of the same process. A process whose operation ended with :info, or did not end, has no other.
func readEDN(t *testing.T, c *Cell, text []byte) (operations, _ []string) {
	outcomes := map[keyword]string{"ok": "ok", "fail": "no", "info": "unknown"}
	pending, crashed := map[int64]done{}, map[int64]bool{}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		if line == "" {
			continue
		}
		r := &ednReader{text: []rune(line)}
		value, err := r.read()
		require.NoError(t, err, line)
		require.Zero(t, r.peek(), line)
		op := value.(map[string]any)
		require.EqualValues(t, i, op["index"])
		at := time.Duration(op["time"].(int64))
		process, is := op["process"].(int64)
		if !is {
			require.Equal(t, keyword("nemesis"), op["process"])
			require.Equal(t, keyword("info"), op["type"])
			continue
		}
		d, under := pending[process]
		if op["type"] == keyword("invoke") {
			require.False(t, under || crashed[process], line)
			pending[process] = done{op["client"].(string), string(op["f"].(keyword)), "unknown", at, c.end()}
			continue
		}
		require.True(t, under, line)
		require.Equal(t, d.op, string(op["f"].(keyword)))
		d.outcome, d.to = outcomes[op["type"].(keyword)], at
		crashed[process] = d.outcome == "unknown"
		operations = append(operations, fmt.Sprint(d))
		delete(pending, process)
	}
	for _, d := range pending {
		for _, o := range c.timeline().Operations { // it ends with its client, which is no operation
			if o.Client == d.client && o.Began == d.from && o.Op.String() == d.op {
				d.to = c.until(o.Span)
			}
		}
		operations = append(operations, fmt.Sprint(d))
	}
	return operations, nil
}
