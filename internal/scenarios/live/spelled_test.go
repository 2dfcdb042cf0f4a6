//go:build linux || darwin

package live_test

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/scenarios/live"
)

var (
	seeds     = flag.Int("seeds", 500, "how many generated scripts a client sends to a server at an address; 10,000 take five seconds, and .ci/run sends so many")
	firstSeed = flag.Uint64("first-seed", 1, "the seed of the first of these scripts")
)

const (
	ownPrefix = "locklab:spelled:"
	foreigns  = 1000
	secret    = "sesame" // in the values of foreign keys, and in the names of those that no script names
)

// TestSpelledScripts: whatever a script looks like, it changes no key of others and reads none, nor does anybody hear of it on others' channels.
func TestSpelledScripts(t *testing.T) {
	at := theirRedis(t)
	direct := dialServer(t, at.Addr())
	writeForeign(t, direct)
	before := foreignState(t, direct)
	listener := redis.NewClient(&redis.Options{Addr: at.Addr()})
	defer listener.Close()
	heard := listener.PSubscribe(t.Context(), "*")
	defer heard.Close()
	_, err := heard.Receive(t.Context())
	require.NoError(t, err)

	guard, err := process.StartGuard(servertest.As("guard"))
	require.NoError(t, err)
	defer func() { require.NoError(t, guard.Close()) }()
	tapped, err := live.TapAt(t.Context(), guard, at.Addr(), ownPrefix)
	require.NoError(t, err)
	defer tapped.Close()
	addr, err := tapped.Listen("C1")
	require.NoError(t, err)
	c := spelledClient{addr: addr}
	defer c.close()

	const batch = 100
	passed, began := 0, time.Now()
	for from := 0; from < *seeds; from += batch {
		var scripts []string
		for i := from; i < min(from+batch, *seeds); i++ {
			seed := *firstSeed + uint64(i)
			args := spelled(seed)
			reply, refused := c.send(t, args)
			if refused {
				continue
			}
			passed++
			scripts = append(scripts, fmt.Sprintf("%d: %q", seed, args))
			require.NotContains(t, reply, secret, "script %d: %q", seed, args)
		}
		require.Equal(t, before, foreignState(t, direct), "one of these scripts has changed a foreign key: %s", strings.Join(scripts, "\n"))
	}
	require.NoError(t, direct.Publish(t.Context(), "the end", "").Err())
	for message := range heard.Channel() {
		if message.Channel == "the end" {
			break
		}
		require.Contains(t, message.Channel, ownPrefix)
	}
	t.Logf("%d of %d scripts passed, in %v", passed, *seeds, time.Since(began).Round(time.Millisecond))
	assert.Greater(t, passed, *seeds/20, "few scripts came through: nothing was tried")
	assert.Less(t, passed, *seeds*19/20, "few scripts were refused: nothing was tried")
}

// TestSpelledScriptsDoHarm: without the tap the same scripts change foreign keys and read them.
func TestSpelledScriptsDoHarm(t *testing.T) {
	needs.Long(t, "scripts beside many keys")
	at := theirRedis(t)
	direct := dialServer(t, at.Addr())
	c := spelledClient{addr: at.Addr()}
	defer c.close()
	changed, read := 0, 0
	writeForeign(t, direct)
	before := foreignState(t, direct)
	for seed := uint64(1); seed <= 300 && (changed <= 10 || read <= 5); seed++ {
		reply, _ := c.send(t, spelled(seed))
		if strings.Contains(reply, secret) {
			read++
		}
		if !maps.Equal(before, foreignState(t, direct)) {
			changed++
			require.NoError(t, direct.FlushAll(t.Context()).Err())
			writeForeign(t, direct)
		}
	}
	assert.Greater(t, changed, 10)
	assert.Greater(t, read, 5)
}

// spelled is the command that sends the script of a seed.
func spelled(seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, 0))
	source, keys, argv := speller{random, ownPrefix + "a", foreignKey(random.IntN(foreigns))}.script()
	return append(append([]string{"EVAL", source, strconv.Itoa(len(keys))}, keys...), argv...)
}

// foreignKey is the name of a foreign key. Every tenth has one that no script knows.
func foreignKey(i int) string {
	if i%10 == 9 {
		return "user:9"
	}
	return fmt.Sprintf("user:%d", i)
}

func writeForeign(t *testing.T, direct redisclient.Client) {
	t.Helper()
	pipe := direct.Pipeline()
	for i := range foreigns {
		name, value := fmt.Sprintf("user:%d", i), fmt.Sprintf("%s-%d", secret, i)
		if i%10 == 9 && i > 9 {
			name = "hidden:" + value
		}
		if i == 0 {
			name = "Lua 5.1" // what _VERSION is
		}
		pipe.Del(t.Context(), name)
		switch i % 6 {
		case 0, 1:
			pipe.Set(t.Context(), name, value, 0)
		case 2:
			pipe.RPush(t.Context(), name, value, "b")
		case 3:
			pipe.HSet(t.Context(), name, "field", value)
		case 4:
			pipe.SAdd(t.Context(), name, value)
		case 5:
			pipe.ZAdd(t.Context(), name, redis.Z{Score: 1, Member: value})
		}
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
}

// foreignState is what the server has of keys that are not the client's, with their expiries, in all databases.
func foreignState(t *testing.T, direct redisclient.Client) map[string]string {
	t.Helper()
	names, err := direct.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	state := map[string]string{}
	pipe := direct.Pipeline()
	dumps, left := map[string]*redis.StringCmd{}, map[string]*redis.DurationCmd{}
	for _, name := range names {
		if !strings.Contains(name, ownPrefix) {
			dumps[name], left[name] = pipe.Dump(t.Context(), name), pipe.PTTL(t.Context(), name)
		}
	}
	databases := pipe.InfoMap(t.Context(), "keyspace")
	_, err = pipe.Exec(t.Context())
	require.NoError(t, err)
	for name, dump := range dumps {
		state[name] = dump.Val() + left[name].Val().String()
	}
	for database := range databases.Val()["Keyspace"] {
		state["database "+database] = ""
	}
	return state
}

// spelledClient sends commands, and connects again when its connection has ended.
type spelledClient struct {
	addr   string
	conn   net.Conn
	reader *resp.Reader
}

func (c *spelledClient) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *spelledClient) send(t *testing.T, args []string) (reply string, refused bool) {
	t.Helper()
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		require.NoError(t, err)
		c.conn, c.reader = conn, resp.NewReader(bufio.NewReader(conn), resp.Limits{})
	}
	require.NoError(t, c.conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err := c.conn.Write(resp.AppendCommand(nil, args...))
	require.NoError(t, err, "%q", args)
	got, err := c.reader.ReadReply()
	require.NoError(t, err, "%q", args)
	reply = string(got.Raw)
	if refused = strings.HasPrefix(reply, "-ERR the lab refuses"); refused {
		c.close()
	}
	return reply, refused
}
