package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadRefusesWhatCannotBe: a line that can be decoded and still makes no sense is named, with what to do.
func TestReadRefusesWhatCannotBe(t *testing.T) {
	const call = `{"at":5,"kind":"call","client":"C1","op":"acquire","id":1,"lock":"k"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"an open without a detail":   {`{"kind":"open","client":"C1","lock":"k"}`, `2: an event "open" needs a client, a lock and a detail`},
		"a command without a name":   {`{"kind":"command","client":"C1","detail":{"command":{"server":"redis"}}}`, `2: an event "command" needs a`},
		"an unknown workload":        {`{"kind":"open","client":"C1","lock":"k","detail":{"work":{"workload":"market"}}}`, `2: no workload is called "market"`},
		"a sale without a stock":     {`{"kind":"open","client":"C1","lock":"k","detail":{"work":{"workload":"flash-sale"}}}`, `2: the work "flash-sale" needs one number of the name "stock"`},
		"a stock that is no number":  {`{"kind":"open","client":"C1","lock":"k","detail":{"work":{"workload":"stock","data":[{"name":"stock","values":["x"]}]}}}`, `2: the stock is "x", which is no number`},
		"a fault without a name":     {`{"kind":"fault","detail":{}}`, `2: an event "fault" needs a fault with its name`},
		"an unknown phase":           {`{"kind":"fault","detail":{"fault":{"name":"crash","phase":"x"}}}`, `2: no phase of a fault is called "x"`},
		"a call of nothing":          {`{"kind":"call","client":"C1","lock":"k","id":1}`, `2: an event "call" needs a`},
		"time goes back":             {call + `{"at":4,"kind":"exit","client":"C1"}`, `3: time 4ns is before that of the event above, 5ns`},
		"negative time":              {`{"at":-1,"kind":"exit","client":"C1"}`, `2: time -1ns is before`},
		"a lease of 292 years":       {`{"kind":"open","client":"C1","lock":"k","detail":{"lease":9223372036854775807}}`, `2: "lease" is 9223372036854775807 ns; it may be 0 to`},
		"a billion servers":          {`{"kind":"open","client":"C1","lock":"k","detail":{"servers":1000000000}}`, `2: "servers" is 1000000000; it may be 0 to 1000`},
		"a return of no call":        {`{"kind":"return","client":"C1","op":"acquire","id":7,"lock":"k","outcome":"ok"}`, `2: C1 returns from operation 7, which is not under way`},
		"a return of another call":   {call + `{"at":5,"kind":"return","client":"C1","op":"release","id":1,"lock":"k","outcome":"ok"}`, `3: C1 returns from release of k, but operation 1 is acquire of k`},
		"a return without outcome":   {call + `{"at":5,"kind":"return","client":"C1","op":"acquire","id":1,"lock":"k"}`, `3: C1 returns from operation 1 without an outcome`},
		"a call that is under way":   {call + call, `3: C1 calls operation 1, which is under way already`},
		"a list of too many changes": {`{"kind":"command","detail":{"command":{"changes":[{}` + strings.Repeat(",{}", maxList) + `]}}}`, `2: a list of more than 65536 elements`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(t.Context(), strings.NewReader(headerLine+c.text+"\n"), "h")
			require.ErrorContains(t, err, "h:"+c.want)
			assert.ErrorContains(t, err, "; the file is damaged: restore it, or run the cell again")
		})
	}
}

// TestReadTakesWhatClientsMayDo: how long a hold or a key lasts is up to clients, and a host stall or a command may begin before the cell.
func TestReadTakesWhatClientsMayDo(t *testing.T) {
	for _, line := range []string{
		`{"kind":"valid","client":"C1","lock":"k","valid":9223372036854775807}`,
		`{"kind":"command","client":"C1","detail":{"command":{"server":"redis","args":["GET"],"sent":-5,"changes":[{"after":{"type":"string","ttl":-9223372036854775808}}]}}}`,
		`{"kind":"fault","detail":{"value":-7,"bound":9,"fault":{"name":"stall","target":"machine","phase":"recover"}}}`,
	} {
		_, err := Read(t.Context(), strings.NewReader(headerLine+line+"\n"), "h")
		assert.NoError(t, err)
	}
}

// endless is a history without an end.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	line := `{"kind":"step","detail":{}}` + "\n"
	if !e.begun {
		e.begun, line = true, headerLine
	}
	n := copy(p, line)
	for n > 0 && n+len(line) <= len(p) && line != headerLine {
		n += copy(p[n:], line)
	}
	return n, nil
}

func TestReadObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	_, err := Read(ctx, &endless{}, "h")
	assert.ErrorIs(t, err, interrupted)
}

func TestReadFileRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadFile(t.Context(), dir)
	assert.EqualError(t, err, dir+": not a regular file; name a history that the lab has written")
	_, err = ReadFile(t.Context(), filepath.Join(dir, "none"))
	assert.EqualError(t, err, filepath.Join(dir, "none")+": no such file or directory")
}

// TestTooLargeFile: a file that is too large is refused before any of it is read; this one takes no room on the disk.
func TestTooLargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(headerLine), 0o600))
	require.NoError(t, os.Truncate(path, MaxFile+1))
	_, err := ReadFile(t.Context(), path)
	require.EqualError(t, err, path+": the history is longer than 1073741824 bytes; the lab reads no longer ones")
	require.NoError(t, os.Truncate(path, MaxFile)) // zeroes: not a line, but not too large either
	_, err = ReadFile(t.Context(), path)
	require.ErrorContains(t, err, path+":2: line is longer than 8388608 bytes")
}

// TestMostParties: so many clients take part in a history, and no more.
func TestMostParties(t *testing.T) {
	var text strings.Builder
	text.WriteString(headerLine)
	open := func(n int) {
		fmt.Fprintf(&text, `{"at":%d,"kind":"open","client":"C%d","lock":"lock","detail":{"lease":1}}`+"\n", n, n)
	}
	for n := range MaxParties {
		open(n)
	}
	_, err := Read(t.Context(), strings.NewReader(text.String()), "h")
	require.NoError(t, err)
	open(MaxParties)
	_, err = Read(t.Context(), strings.NewReader(text.String()), "h")
	require.ErrorContains(t, err, "h:16386: more than 16384 clients")
}
