package redis

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	client "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/sim/service"
)

// subject is a Redis of some kind, on which several connections send commands and time passes.
type subject interface {
	do(connection int, args []string) string // the reply in one line
	advance(d time.Duration)
	reset()
}

// model is the subject that the others are compared with.
type model struct{ server *Server }

func (m *model) do(connection int, args []string) string {
	return canonical(args, plain(m.server.Do(connection, args...)).String())
}

// plain is the reply with its statuses as bulk strings: a client library does not tell them apart.
func plain(r service.Reply) service.Reply {
	if r.Kind == service.Status {
		return bulk(r.Text)
	}
	for i := range r.List {
		r.List[i] = plain(r.List[i])
	}
	return r
}

func (m *model) advance(d time.Duration) { m.server.Advance(d) }
func (m *model) reset() {
	m.server = New()
	m.server.SetWallClock(time.Duration(time.Now().UnixNano()))
}

// wire is a subject behind a socket.
type wire struct {
	t       require.TestingT
	addr    string
	conns   map[int]redisclient.Client // of one connection each
	client  redisclient.Client
	forward func(time.Duration) // nil: by a jump of its clock
}

func newWire(t testing.TB, addr string, forward func(time.Duration)) *wire {
	w := &wire{t: t, addr: addr, conns: map[int]redisclient.Client{}, forward: forward}
	w.client = w.dial()
	t.Cleanup(func() {
		w.hangUp()
		require.NoError(t, w.client.Close())
	})
	return w
}

func (w *wire) dial() redisclient.Client {
	return redisclient.New(w.addr, redisclient.Settings{Connections: 1})
}

func (w *wire) do(connection int, args []string) string {
	conn := w.conns[connection]
	if conn == nil {
		conn = w.dial()
		w.conns[connection] = conn
	}
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	value, err := conn.Do(context.Background(), words...).Result()
	if err == client.Nil {
		return "nil"
	}
	if err != nil {
		value = err
	}
	return canonical(args, line(value))
}

func (w *wire) advance(d time.Duration) {
	if w.forward != nil {
		w.forward(d)
		return
	}
	_, _, err := redis.JumpClock(context.Background(), w.addr, 0, d)
	require.NoError(w.t, err)
}

func (w *wire) hangUp() {
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

func (w *wire) reset() {
	w.hangUp()
	ctx := context.Background()
	require.NoError(w.t, w.client.FlushAll(ctx).Err())
	require.NoError(w.t, w.client.ScriptFlush(ctx).Err())
}

// line writes a reply as Reply.String does, but that a status cannot be told from a bulk string.
func line(value any) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case error:
		return "(error) " + v.Error()
	case []any:
		words := make([]string, len(v))
		for i, element := range v {
			words[i] = line(element)
		}
		return "[" + strings.Join(words, " ") + "]"
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(value)
}

// grain is what times are compared to. Keys live for whole numbers of ten of them and the clock leaps by 5.2 of them: no key ends, and
// no time is rounded, near a moment at which it matters how long a real server takes for its answers.
const (
	grain = 10 * time.Second
	leap  = 52 * time.Second
)

// canonical makes replies comparable: of an error its code only, and whatever number can only be a time rounded.
func canonical(args []string, reply string) string {
	if text, isError := strings.CutPrefix(reply, "(error) "); isError {
		code, _, _ := strings.Cut(text, " ")
		return "(error) " + code
	}
	if args[0] == "SMEMBERS" { // in any order
		words := strings.Fields(strings.Trim(reply, "[]"))
		slices.Sort(words)
		return strings.Join(words, " ")
	}
	reply = wallClock.ReplaceAllStringFunc(reply, rightTime)
	words := strings.Fields(reply)
	for i, word := range words {
		bare := strings.Trim(word, `[]"`)
		n, err := strconv.ParseInt(bare, 10, 64)
		if err == nil && args[0] == "TTL" {
			n *= 1000
		}
		if err == nil && n > 5000 {
			words[i] = strings.Replace(word, bare, fmt.Sprintf("≈%v", (time.Duration(n)*time.Millisecond).Round(grain)), 1)
		}
	}
	return strings.Join(words, " ")
}

// wallClock is what TIME answers.
var wallClock = regexp.MustCompile(`\["([0-9]+)" "([0-9]{1,6})"\]`)

// rightTime leaves a time of day out if it is about right. A leap moves the keys of a real server, and not its wall clock, so hours may be between the two.
func rightTime(reply string) string {
	found := wallClock.FindStringSubmatch(reply)
	if seconds, err := strconv.ParseInt(found[1], 10, 64); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 24*time.Hour {
		return reply
	}
	return "[time]"
}

// step is something that happens to a subject.
type step struct {
	connection int
	args       []string
	advance    time.Duration // zero: a command
}

func (s step) String() string {
	if s.advance > 0 {
		return fmt.Sprintf("   %v pass", s.advance)
	}
	words := make([]string, len(s.args))
	for i, arg := range s.args {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \n\"") {
			words[i] = strconv.Quote(arg)
		}
	}
	return fmt.Sprintf("%d> %s", s.connection, strings.Join(words, " "))
}

// TestModelAgainstRedis sends the same commands to the model and to a real server, and lets the same time pass.
func TestModelAgainstRedis(t *testing.T) {
	compare(t, &model{}, realRedis(t), drawStep)
}

// TestModelAgainstMiniredis does the same with the server that the lab embeds.
func TestModelAgainstMiniredis(t *testing.T) {
	compare(t, blunt{&model{}}, miniRedis(t), drawRightStep)
}

func miniRedis(t *testing.T) subject {
	mini := miniredis.RunT(t)
	return blunt{newWire(t, mini.Addr(), mini.FastForward)}
}

// blunt is a subject whose errors are all the same: miniredis often has other codes than Redis.
type blunt struct{ subject }

func (b blunt) do(connection int, args []string) string {
	reply := b.subject.do(connection, args)
	if strings.HasPrefix(reply, "(error)") {
		return "(error)"
	}
	return inScript.ReplaceAllString(reply, "$1")
}

// inScript is what miniredis adds to an error of a script that a transaction has executed.
var inScript = regexp.MustCompile(`ERR Error compiling script \(new function\): :1: (.*?) stack traceback: .*?\[G\]: \?`)

func drawRightStep(t *rapid.T) step { return drawRightStepOf(t, nil) }

func drawRightStepOf(t *rapid.T, names []string) step {
	draw := func(t *rapid.T) step { return drawStepOf(t, names) }
	return rapid.Custom(draw).Filter(func(s step) bool { return !strange(s) }).Draw(t, "step")
}

// strange are the commands that miniredis answers otherwise than Redis does: many that are wrong, which it refuses earlier or later.
func strange(s step) bool {
	text := strings.Join(s.args, " ")
	wrong := func(ending string) bool { return strings.HasSuffix(text, ending) }
	return wrong(" x") || strings.Contains(text, " x ") || wrong(" NX XX") || wrong(" PX") || wrong(" 0") || wrong(" -1") || s.args != nil && strangely(s.args)
}

// strangely says so of single commands.
func strangely(args []string) bool {
	switch args[0] {
	case "INCRBY", "DECRBY":
		_, isNumber := parseInt(args[2])
		return !isNumber
	case "SETEX", "PSETEX": // a life of nothing is refused before it is queued
		life, isNumber := parseInt(args[2])
		return !isNumber || life <= 0
	case "SETBIT": // so is a bit that is none
		return args[3] == "2"
	case "PEXPIRE": // LT and GT hold of an expiry that is the same, too
		return len(args) > 3 && (args[3] == "LT" || args[3] == "GT")
	case "COPY": // a key that is replaced keeps its expiry
		return len(args) > 3
	case "NOSUCH": // an unknown command does not abort the transaction
		return true
	case "GETRANGE": // it gives a character for a range from the end that ends before it begins
		return len(args) > 3 && strings.HasPrefix(args[2], "-") && strings.HasPrefix(args[3], "-") && args[2] < args[3]
	case "GETEX": // the expiry of a key that is no string is set or removed before the command is refused
		return len(args) > 2
	}
	return false
}

// compare plays random steps on both subjects. What differs is shrunk, and printed as commands.
func compare(t *testing.T, mine, theirs subject, draw func(*rapid.T) step) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(draw), 1, 40).Draw(t, "steps")
		if found := difference(mine, theirs, steps); found != "" {
			t.Fatal(found)
		}
	})
}

// difference plays steps on both subjects until they answer differently, and tells the story; "" if they never do.
func difference(mine, theirs subject, steps []step) string {
	mine.reset()
	theirs.reset()
	var told []string
	watching := map[int]bool{}
	for _, s := range steps {
		if s.advance > 0 && len(watching) > 0 {
			continue // a leap of a real server's clock touches its keys, and so spoils what is watched
		}
		told = append(told, s.String())
		if s.advance > 0 {
			mine.advance(s.advance)
			theirs.advance(s.advance)
			continue
		}
		switch s.args[0] {
		case "WATCH":
			watching[s.connection] = true
		case "UNWATCH", "EXEC", "DISCARD":
			delete(watching, s.connection)
		}
		want, got := theirs.do(s.connection, s.args), mine.do(s.connection, s.args)
		if want != got {
			return fmt.Sprintf("the replies differ after\n  %s\nthey answer %s\nthe model   %s", strings.Join(told, "\n  "), want, got)
		}
	}
	return ""
}

// drawStep draws a command on a few keys, right or wrong, or some time.
func drawStep(t *rapid.T) step { return drawStepOf(t, nil) }

// drawStepOf draws only commands of these names; of any without names.
func drawStepOf(t *rapid.T, names []string) step {
	word := func(words ...string) string { return rapid.SampledFrom(words).Draw(t, "word") }
	key := func() string { return word("k", "k2", "k3") }
	value := func() string { return word("a", "b", "7", "-3", "") }
	life := func() string { return word("100000", "200000", "300000", "0", "-1", "x") }
	index := func() string { return word("0", "1", "-1", "2", "-3", "x") }
	score := func() string { return word("1", "2", "-5", "100000", "inf", "x") }
	commands := [][]string{
		{"GET", key()}, {"SET", key(), value()}, {"SET", key(), value(), "NX", "PX", life()}, {"SET", key(), value(), "XX", "EX", word("100", "200", "0")},
		{"SET", key(), value(), "NX", "GET"}, {"SET", key(), value(), "KEEPTTL"}, {"SET", key(), value(), "NX", "XX"}, {"SET", key(), value(), "PX"},
		{"SETEX", key(), word("100", "200", "0"), value()}, {"PSETEX", key(), life(), value()}, {"GETEX", key(), "PX", life()}, {"GETEX", key()},
		{"GETEX", key(), "PERSIST"}, {"STRLEN", key()}, {"GETRANGE", key(), index(), index()}, {"APPEND", key(), value()}, {"SETBIT", key(), word("0", "9", "x"), word("0", "1", "2")},
		{"GETBIT", key(), word("1", "9")}, {"UNLINK", key(), key()}, {"RENAME", key(), key()}, {"RENAMENX", key(), key()}, {"COPY", key(), "k4"},
		{"COPY", key(), "k4", "REPLACE"}, {"GET", "k4"}, {"PTTL", "k4"}, {"PEXPIRE", key(), life(), word("NX", "XX", "GT", "LT")},
		{"HSETNX", key(), value(), value()}, {"RPOP", key()}, {"ZRANK", key(), value()}, {"ZRANGE", key(), index(), index(), "WITHSCORES"},
		{"SETNX", key(), value()}, {"GETSET", key(), value()}, {"GETDEL", key()}, {"INCR", key()}, {"DECR", key()}, {"INCRBY", key(), value()},
		{"DEL", key()}, {"DEL", key(), key()}, {"EXISTS", key(), key()}, {"TYPE", key()}, {"PING"}, {"GET"}, {"NOSUCH", key()},
		{"TIME"}, {"TIME", "x"}, {"EVAL", `return redis.call("TIME")`, "0"}, {"EVAL", `return redis.call("TIME", "x")`, "0"},
		{"EVAL", `local t = redis.call("TIME") return {#t, type(t[1]), type(t[2]), t[1] * 1000 > 1500000000000, t[2] + 0 < 1000000}`, "0"},
		{"PEXPIRE", key(), life()}, {"EXPIRE", key(), word("100", "200", "0", "-1")}, {"PERSIST", key()}, {"PTTL", key()}, {"TTL", key()},
		{"HSET", key(), value(), value()}, {"HSET", key(), value()}, {"HGET", key(), value()}, {"HDEL", key(), value()}, {"HEXISTS", key(), value()},
		{"HINCRBY", key(), value(), word("1", "-1", "x")}, {"HLEN", key()},
		{"RPUSH", key(), value(), value()}, {"LPUSH", key(), value(), value()}, {"LPOP", key()}, {"LLEN", key()}, {"LRANGE", key(), index(), index()},
		{"LINDEX", key(), index()}, {"LREM", key(), index(), value()},
		{"ZADD", key(), score(), value()}, {"ZREM", key(), value()}, {"ZSCORE", key(), value()}, {"ZINCRBY", key(), score(), value()},
		{"ZRANGE", key(), index(), index()}, {"ZCARD", key()},
		{"SADD", key(), value(), value()}, {"SREM", key(), value()}, {"SISMEMBER", key(), value()}, {"SCARD", key()}, {"SMEMBERS", key()},
		{"WATCH", key()}, {"UNWATCH"}, {"MULTI"}, {"EXEC"}, {"EXEC"}, {"DISCARD"}, {"PUBLISH", "channel", "text"},
		{"EVAL", `return redis.call(ARGV[1], KEYS[1])`, "1", key(), word("GET", "DEL", "PTTL", "LPOP", "NOSUCH", "HLEN")},
		{"EVAL", `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`, "1", key(), value()},
		{"EVAL", `return {1, "two", false, 4}`, "0"}, {"EVAL", `return redis.pcall("HGET", KEYS[1], "a")`, "1", key()},
		{"EVAL", `return redis.status_reply("FINE")`, "0"}, {"EVAL", `return redis.error_reply("BAD luck")`, "0"}, {"EVAL", `return 3.7`, "0"},
		{"EVAL", `redis.call("SET", KEYS[1], 1) return redis.call("LPOP", KEYS[1])`, "1", key()},
		{"EVAL", `return redis.call("GET", KEYS[1]) == false`, "1", key()}, {"EVAL", `return #redis.call("LRANGE", KEYS[1], 0, -1)`, "1", key()},
		{"EVALSHA", shaOf(`return 1`), "0"}, {"SCRIPT", "LOAD", `return 1`}, {"EVAL", `return 1`, "2", "k"}, {"SCRIPT", "FLUSH"},
	}
	if len(names) > 0 {
		commands = slices.DeleteFunc(commands, func(args []string) bool { return !slices.Contains(names, args[0]) })
	}
	if rapid.IntRange(0, 7).Draw(t, "time") == 0 {
		return step{advance: rapid.SampledFrom([]time.Duration{leap, 2 * leap, 3 * leap}).Draw(t, "advance")}
	}
	return step{connection: rapid.IntRange(1, 2).Draw(t, "connection"), args: rapid.SampledFrom(commands).Draw(t, "command")}
}

// realRedis is a redis-server of the test's own.
func realRedis(t *testing.T) *wire {
	t.Helper()
	needs.Found(t, "redis", redis.Find)
	guard, err := process.StartGuard([]string{"/usr/bin/env", guardRole + "=1", os.Args[0]})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close()) })
	own, err := redis.Start(t.Context(), guard, redis.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	return newWire(t, own.Addr(), nil)
}

const guardRole = "LOCKLAB_SIM_GUARD"

func TestMain(m *testing.M) {
	if os.Getenv(guardRole) != "" {
		if err := process.GuardMain(os.Stdin, os.Stdout, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
