package recorded

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	redisserver "github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
)

func TestMain(m *testing.M) {
	servertest.Become(nil)
	os.Exit(m.Run())
}

func TestParseMonitor(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
		conn string
	}{
		{`1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`, []string{"keys", "*"}, "127.0.0.1:60866"},
		{`1339518083.107412 [15 unix:/tmp/redis.sock] "GET" ""`, []string{"GET", ""}, "unix:/tmp/redis.sock"},
		{`1339518083.107412 [0 [::1]:60866] "SET" "a b" "\"\\\n\r\t\a\b\x00\xff" "] \"["`, []string{"SET", "a b", "\"\\\n\r\t\a\b\x00\xff", `] "[`}, "[::1]:60866"},
		{`1 [0 lua] "get" "k"`, []string{"get", "k"}, "lua"},
	} {
		c, err := parseMonitor(test.text)
		require.NoError(t, err, test.text)
		assert.Equal(t, test.want, c.args)
		assert.Equal(t, test.conn, c.conn)
	}
	c, err := parseMonitor(`1339518083.107412 [0 a:1] "ping"`)
	require.NoError(t, err)
	assert.Equal(t, 1339518083*time.Second+107412*time.Microsecond, c.at)
	for _, text := range []string{
		"", "hello", `x [0 a:1] "ping"`, `1.1234567890 [0 a:1] "ping"`, `1 [0 a:1]`, `1 [0] "ping"`, `1 [x a:1] "ping"`, `1 [0 a:1] ping`, `1 [0 a:1] "ping`, `1 [0 a:1] "ping""x"`,
		`1 [0 a:1] "\x0"`, `1 [0 a:1] "\xgg"`, `1 [0 a:1] "\`, `-1 [0 a:1] "ping"`, `1.-5 [0 a:1] "ping"`, `1 [0 a:1] "ping" `,
	} {
		_, err := parseMonitor(text)
		assert.Error(t, err, text)
	}
}

// monitored judges lines, of which each has a time in milliseconds, a connection and a command.
func monitored(t *testing.T, opts Options, text ...string) *Judgement {
	t.Helper()
	var b strings.Builder
	for _, line := range text {
		var ms int
		var conn string
		fields := strings.Fields(line)
		_, err := fmt.Sscan(line, &ms, &conn)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%d.%03d000 [0 %s]", 1000+ms/1000, ms%1000, conn)
		for _, word := range fields[2:] {
			fmt.Fprintf(&b, " %q", word)
		}
		b.WriteString("\n")
	}
	j, err := Monitor(strings.NewReader(b.String()), "m", opts)
	require.NoError(t, err)
	return j
}

func names(j *Judgement) (list []string) {
	for _, f := range j.Found {
		list = append(list, string(f.Name))
	}
	return list
}

func TestMonitor(t *testing.T) {
	const compare = "evalsha c0ffee 1 k"
	for name, test := range map[string]struct {
		lines []string
		want  []string
		given bool // the first finding rests on what is assumed of the beginning
	}{
		"removed by another":                     {[]string{"0 a set k x NX PX 1000", "100 b del k"}, []string{"wrongful-delete"}, true},
		"removed by another, later":              {[]string{"0 a set k x NX PX 1000", "100 a del k", "200 a set k x NX PX 1000", "300 b del k"}, []string{"wrongful-delete"}, false},
		"removed when the lease was over":        {[]string{"0 a set k x NX PX 1000", "1100 b set k y NX PX 1000", "1200 a del k"}, []string{"wrongful-delete"}, true},
		"removed by UNLINK":                      {[]string{"0 a setnx k x", "100 b unlink k"}, []string{"wrongful-delete"}, true},
		"removed with another":                   {[]string{"0 a setnx k x", "10 a setnx k2 y", "100 b del k k2"}, []string{"wrongful-delete", "wrongful-delete"}, true},
		"named as a value":                       {[]string{"0 a setnx k x", "10 b set d k", "20 b get d"}, nil, false},
		"removed by FLUSHALL":                    {[]string{"0 a setnx k x", "100 b flushall"}, []string{"wrongful-delete"}, true},
		"removed by an expiry of zero":           {[]string{"0 a setnx k x", "100 b pexpire k 0"}, []string{"wrongful-delete"}, true},
		"removed in a transaction":               {[]string{"0 a setnx k x", "100 b watch k", "110 b multi", "110 b del k", "110 b exec"}, []string{"wrongful-delete"}, true},
		"overwritten":                            {[]string{"0 a set k x NX PX 1000", "100 b set k y PX 1000"}, []string{"overwrite"}, true},
		"prolonged":                              {[]string{"0 a set k x NX PX 1000", "100 b pexpire k 9000"}, []string{"wrongful-renew"}, true},
		"one removed it, another twice":          {[]string{"0 a setnx k x", "100 b del k", "200 b setnx k x", "300 a del k"}, []string{"wrongful-delete", "wrongful-delete"}, true},
		"by its owner":                           {[]string{"0 a set k x NX PX 1000", "100 b set k y NX PX 1000", "200 a pexpire k 3000", "300 a del k", "400 b set k y NX PX 1000", "500 b del k"}, nil, false},
		"by a script that knows the value":       {[]string{"0 a set k x NX PX 1000", "100 b " + compare + " x", "100 lua get k", "100 lua del k"}, nil, false},
		"by a script that knows another":         {[]string{"0 a set k x NX PX 1000", "100 b " + compare + " y", "100 lua get k"}, nil, false},
		"by a script that everybody knows":       {[]string{"0 a setnx k 1", "50 a del k", "60 b setnx k 1", "70 b del k", "80 a setnx k 1", "100 b " + compare + " 1", "100 lua get k", "100 lua del k"}, []string{"wrongful-delete"}, false},
		"when the lease was over":                {[]string{"0 a set k x NX PX 1000", "1100 b del k"}, nil, false},
		"as the lease ended":                     {[]string{"0 a set k x NX PX 1000", "1001 b set k y NX PX 1000", "1100 a del k"}, nil, false},
		"after the lease ended, certain again":   {[]string{"0 a set k x NX PX 1000", "1001 b set k y NX PX 1000", "1100 a del k", "1200 a set k x NX PX 1000", "1300 b del k"}, []string{"wrongful-delete"}, false},
		"the first try was refused":              {[]string{"0 a set k x NX PX 9000", "100 a set k x NX PX 9000", "200 b del k", "300 a set k x NX PX 9000", "400 b del k"}, []string{"wrongful-delete"}, false},
		"another's script removed an old lock":   {[]string{"0 a set k x NX PX 9000", "100 b " + compare + " old", "100 lua get k", "100 lua del k", "200 a set k x NX PX 9000", "300 a del k"}, nil, false},
		"a command that the model does not know": {[]string{"0 a setnx k x", "100 a lcs k k2", "200 b del k"}, nil, false},
		"data that is set and removed":           {[]string{"0 a setnx k x", "10 a set d 1", "20 b set d 2", "30 a del d", "40 b get k"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := monitored(t, Options{}, test.lines...)
			assert.Equal(t, test.want, names(j))
			assert.NotEqual(t, Failed, j.Result, j.Why)
			if len(test.want) > 0 && len(j.Found) > 0 {
				assert.Equal(t, test.given, j.Found[0].If != "")
				assert.Equal(t, Broken, j.Result)
			}
		})
	}
}

// A lock that counts in a hash, as Redisson's does, by connections of a pool.
func TestMonitorHash(t *testing.T) {
	take := func(at int, conn, id string) []string {
		return []string{
			fmt.Sprintf("%d %s evalsha s 1 h 3000 %s", at, conn, id), fmt.Sprintf("%d lua exists h", at), fmt.Sprintf("%d lua hincrby h %s 1", at, id), fmt.Sprintf("%d lua pexpire h 3000", at),
		}
	}
	lines := append(take(0, "a1", "u1:1"), take(100, "a2", "u1:1")...)
	lines = append(lines, "200 a3 evalsha r 1 h u1:1", "200 lua hexists h u1:1", "200 lua hincrby h u1:1 -1", "200 lua pexpire h 3000", "300 a1 evalsha r 1 h u1:1", "300 lua hincrby h u1:1 -1", "300 lua del h", "400 b get h")
	j := monitored(t, Options{Locks: []string{"h"}}, lines...)
	assert.Empty(t, j.Found)
	assert.Equal(t, []string{"wrongful-delete"}, names(monitored(t, Options{Locks: []string{"h"}}, append(take(0, "a1", "u1:1"), "100 b del h")...)))
}

func TestLog(t *testing.T) {
	ret := func(at float64, client, op, outcome, more string) string {
		return fmt.Sprintf(`{"time":%.3f,"client":%q,"lock":"k","event":"return","op":%q,"outcome":%q,"took_ms":1%s}`, at, client, op, outcome, more)
	}
	call := func(at float64, client, op string) string {
		return fmt.Sprintf(`{"time":%.3f,"client":%q,"lock":"k","event":"call","op":%q}`, at, client, op)
	}
	for name, test := range map[string]struct {
		lines  []string
		want   []string
		result Result
	}{
		"two holders":              {[]string{ret(1, "a", "acquire", "ok", ""), ret(2, "b", "acquire", "ok", "")}, []string{"double-holder"}, Broken},
		"two permits":              {[]string{`{"time":0,"client":"a","lock":"k","event":"open","permits":2}`, ret(1, "a", "acquire", "ok", ""), ret(2, "b", "acquire", "ok", "")}, nil, Nothing},
		"a smaller fence":          {[]string{ret(1, "a", "acquire", "ok", `,"fence":5`), ret(2, "a", "release", "ok", ""), ret(3, "b", "acquire", "ok", `,"fence":4`)}, []string{"fence-regression"}, Broken},
		"its validity was over":    {[]string{ret(1, "a", "acquire", "ok", `,"valid_ms":500`), ret(2, "b", "acquire", "ok", "")}, nil, Nothing},
		"renewed":                  {[]string{ret(1, "a", "acquire", "ok", `,"valid_ms":500`), ret(1.4, "a", "renew", "ok", `,"valid_ms":900`), ret(2, "b", "acquire", "ok", "")}, []string{"double-holder"}, Broken},
		"it was refused":           {[]string{ret(1, "a", "acquire", "ok", ""), ret(2, "b", "acquire", "no", "")}, nil, Nothing},
		"its answer was lost":      {[]string{ret(1, "a", "acquire", "ok", ""), ret(2, "b", "acquire", "unknown", "")}, nil, Nothing},
		"released and taken":       {[]string{ret(1, "a", "acquire", "ok", ""), ret(3, "b", "acquire", "ok", ""), call(2, "a", "release")}, nil, Nothing},
		"at the same time":         {[]string{ret(2, "b", "acquire", "ok", ""), ret(1, "a", "acquire", "ok", ""), call(2, "a", "release")}, nil, Nothing},
		"taken and let go at once": {[]string{ret(1, "a", "acquire", "ok", ""), call(1, "a", "release"), ret(2, "b", "acquire", "ok", "")}, nil, Nothing},
		"again, and counted":       {[]string{`{"time":0,"client":"a","lock":"k","event":"open","reentrant":true}`, ret(1, "a", "acquire", "ok", ""), ret(2, "a", "acquire", "ok", ""), call(3, "a", "release"), ret(4, "b", "acquire", "ok", "")}, []string{"double-holder"}, Broken},
		"out of order, fair":       {[]string{`{"time":0,"client":"a","lock":"k","event":"open","fair":true}`, ret(1, "a", "acquire", "ok", ""), call(2, "b", "acquire"), call(3, "c", "acquire"), call(4, "a", "release"), ret(5, "c", "acquire", "ok", "")}, nil, Nothing},
		"one client":               {[]string{ret(1, "a", "acquire", "ok", "")}, nil, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := Log(strings.NewReader(strings.Join(test.lines, "\n")), "l", Options{})
			require.NoError(t, err)
			assert.Equal(t, test.want, names(j))
			assert.Equal(t, test.result, j.Result, j.Why)
			assert.Len(t, append(j.LookedFor, j.CannotTell...), len(checker.Definitions()))
		})
	}
	good := call(1, "a", "acquire")
	for text, want := range map[string]string{
		"nonsense": "l:1: not a line of a log", "{}": `l:1: it has no "time"`, `{"time":"now"}`: `l:1: "time" is neither`, `{"time":-1}`: `l:1: "time" is neither`,
		`{"time":1}`: `l:1: it has no "client"`, `{"time":1,"client":"a"}`: `l:1: it has no "lock"`, `{"time":1,"client":"a","lock":"k"}`: `l:1: "event" is ""`,
		strings.Replace(good, "acquire", "steal", 1): `l:1: "op" is "steal"`, good + "\n\n" + good: "l:3: a calls acquire of k again, which has not returned since line 1",
		good + "\n" + call(0.5, "a", "release"):                                  "l:2: its time is before that of an earlier line of a",
		strings.Replace(ret(1, "a", "release", "ok", ""), `,"took_ms":1`, "", 1): "l:1: a returns from release of k without a call", "\n\n": "l: there is nothing in it",
		ret(1, "a", "acquire", "ok", `,"valid_ms":1e300`): `l:1: "valid_ms" is 1e+300`,
	} {
		_, err := Log(strings.NewReader(text), "l", Options{})
		assert.ErrorContains(t, err, want, text)
	}
}

// What a real server's MONITOR prints is judged: a sound lock, by a pool and a script, and then a plain DEL.
func TestRecordedMonitor(t *testing.T) {
	needs.Found(t, "redis", redisserver.Find)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := redisserver.Start(ctx, servertest.StartGuard(t), redisserver.Options{})
	require.NoError(t, err)
	defer s.Close()
	monitor, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer monitor.Close()
	require.NoError(t, monitor.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprint(monitor, "MONITOR\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(monitor)
	var text bytes.Buffer
	read := func() string { // as redis-cli prints it
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		line = strings.TrimSuffix(strings.TrimPrefix(line, "+"), "\r\n")
		text.WriteString(line + "\n")
		return line
	}
	require.Equal(t, "OK", read())

	client := func() *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 1, DisableIdentity: true})
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b, pool := client(), client(), client()
	compare := redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	for token, c := range map[string]*redis.Client{"token of a": a, "token of b": b} {
		require.NoError(t, c.Do(ctx, "SET", "k", token, "NX", "PX", 30000).Err())
		require.NoError(t, compare.Run(ctx, pool, []string{"k"}, token).Err())
		require.NoError(t, c.Do(ctx, "SET", "tokens \"of\"\x00", "a\nb", "NX", "PX", 30000).Err())
		require.NoError(t, c.Do(ctx, "DEL", "tokens \"of\"\x00").Err())
	}
	require.NoError(t, a.Do(ctx, "SET", "k", "mine", "NX", "PX", 30000).Err())
	require.NoError(t, b.Do(ctx, "DEL", "k").Err())
	require.NoError(t, b.Do(ctx, "ECHO", "the end").Err())

	for !strings.Contains(read(), "the end") {
	}
	j, err := Monitor(&text, "m", Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"wrongful-delete"}, names(j), "%+v", j)
	assert.Equal(t, []string{"k", "tokens \"of\"\x00"}, j.Locks)
}
