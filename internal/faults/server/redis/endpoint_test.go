package redis

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server/address"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/certs"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
)

const secret = "a/b@c:d%e f"

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]Endpoint{
		"127.0.0.1:6379":                     {Addr: "127.0.0.1:6379", Password: "given"},
		"redis://host":                       {Addr: "host:6379", Password: "given"},
		"redis://host/":                      {Addr: "host:6379", Password: "given"},
		"redis://host:1/15":                  {Addr: "host:1", DB: 15, Password: "given"},
		"redis://me@[::1]:7":                 {Addr: "[::1]:7", User: "me", Password: "given"},
		"rediss://me:a%2Fb%40c%3Ad@host:1/2": {Addr: "host:1", User: "me", Password: "a/b@c:d", DB: 2, TLS: &TLS{}},
		"redis://:a/b@c:d@host":              {Addr: "host:6379", Password: "a/b@c:d"},
	} {
		e, err := ParseEndpoint(text, Credentials{Password: "given"})
		require.NoError(t, err, text)
		assert.Equal(t, want, e, text)
	}
	for text, why := range map[string]string{
		"host":                       "not an address like",
		"redis://":                   "not a URL like",
		"redis://me:hush@":           "not a URL like",
		"redis://:hush@host:port":    "not a URL like",
		"redis://:hush@host:70000":   "70000 is no port",
		"redis://:hush@host/x":       `"x" is no number of a database`,
		"redis://:hush@host/-1":      `"-1" is no number of a database`,
		"redis://:hush@host/1/2":     "is no number of a database",
		"redis://:hush%zz@host":      "a % in the password is written %25",
		"redis://:hush@host?db=1":    "not a URL like",
		"redis://x%zz:hush@host":     "a % in the user is written %25",
		"http://me:hush@127.0.0.1:1": "not an address like",
	} {
		_, err := ParseEndpoint(text, Credentials{})
		require.ErrorContains(t, err, why, text)
		assert.NotContains(t, err.Error(), "hush", text)
	}
	dir := t.TempDir()
	files, err := certs.Make(dir)
	require.NoError(t, err)
	large := filepath.Join(dir, "large")
	require.NoError(t, os.WriteFile(large, make([]byte, longestPEM+1), 0o600))
	for why, c := range map[string]Credentials{
		"no such file":           {CA: filepath.Join(dir, "none")},
		"not a regular file":     {CA: dir},
		"more than 512 KiB":      {CA: large},
		"no certificate in PEM":  {CA: files.Key},
		"--tls-cert and --tls-k": {Cert: files.Cert},
		"private key does not":   {Cert: files.Cert, Key: files.ExpiredKey},
	} {
		_, err := ParseEndpoint("rediss://host", c)
		require.ErrorContains(t, err, why)
	}
	_, err = ParseEndpoint("redis://host", Credentials{CA: files.CA})
	require.ErrorContains(t, err, "certificates are for TLS: write rediss://")
}

// TestSecretsAreNotPrinted: no verb of fmt, and no encoder, shows a password.
func TestSecretsAreNotPrinted(t *testing.T) {
	e := Endpoint{Addr: "host:1", User: "me", Password: "hush", TLS: &TLS{Key: []byte("hush")}}
	require.Equal(t, "rediss://me:***@host:1", e.String())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, shown := range []any{e, &e, e.Password, []Secret{"hush"}, struct{ P Secret }{"hush"}, Credentials{Password: "hush"}} {
			text := fmt.Sprintf(verb, shown)
			assert.NotContains(t, text, "hush", verb)
			assert.NotContains(t, text, "68757368", verb)
		}
	}
	text, err := json.Marshal(Credentials{Password: "hush"})
	require.NoError(t, err)
	require.NotContains(t, string(text), "hush")
	require.NotContains(t, e.CLI(), "hush")
	sealed, err := e.Seal()
	require.NoError(t, err)
	again, err := Unseal(sealed)
	require.NoError(t, err)
	require.Equal(t, e, again)
	_, err = Unseal("hush")
	require.EqualError(t, err, "not a sealed endpoint")

	for text, want := range map[string]string{
		"rediss://me:hush@host:1/2":    "rediss://me:***@host:1/2",
		"zookeeper://me:hu@sh@host":    "zookeeper://me:***@host",
		"redis://me@host":              "redis://me@host",
		"host:1":                       "host:1",
		"redis://:hush@host:not-a-url": "redis://:***@host:not-a-url",
		"me:hush@host:1":               "me:***@host:1",
		"redis://host?password=hush":   "redis://host?***",
		"redis://host:1?p=hush@x":      "redis://host:***@x",
		"redis://:hu?sh@host/1?db=2":   "redis://:***@host/1?***",
	} {
		assert.Equal(t, want, address.Redact(text))
	}
	without, password, has := SplitPassword("rediss://me:hush%20x@host:1/2")
	assert.Equal(t, []any{"rediss://me@host:1/2", "hush x", true}, []any{without, password, has})
	for _, text := range []string{"redis://me@host", "host:1", "embedded", "http://me:hush@host", "redis://:hush%zz@host"} {
		without, _, has = SplitPassword(text)
		assert.False(t, has, text)
		assert.Equal(t, text, without)
	}
}

// guarded is a redis-server that asks for a password, knows users, and also listens with TLS.
type guarded struct {
	addr, tls string
	files     certs.Files
}

func startGuarded(t *testing.T) guarded {
	t.Helper()
	s := startRedis(t)
	files, err := certs.Make(t.TempDir())
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	do(t, s, 0, "CONFIG", "SET", "tls-cert-file", files.Cert, "tls-key-file", files.Key, "tls-ca-cert-file", files.CA, "tls-auth-clients", "no")
	do(t, s, 0, "CONFIG", "SET", "tls-port", port)
	do(t, s, 0, "ACL", "SETUSER", "me", "on", ">"+secret, "~locklab:*", "+@all")
	do(t, s, 0, "ACL", "SETUSER", "meek", "on", ">"+secret, "~locklab:*", "-@all", "+ping", "+set", "+get", "+del", "+unlink", "+pttl", "+type", "+persist", "+pexpire", "+script")
	do(t, s, 0, "ACL", "SETUSER", "open", "on", "nopass", "~locklab:*", "+@all")
	do(t, s, 0, "CONFIG", "SET", "requirepass", secret)
	return guarded{s.Addr(), "127.0.0.1:" + port, files}
}

// as is the server's own user, who may do everything.
func (g guarded) as(t *testing.T, use func(redisclient.Client) error) {
	t.Helper()
	require.NoError(t, with(servertest.Bounded(t), Endpoint{Addr: g.addr, Password: secret}, use))
}

// The lab gets in where a server asks for a password, a user or TLS, and does there what it does elsewhere.
func TestServersThatAskForCredentials(t *testing.T) {
	g := startGuarded(t)
	for name, test := range map[string]struct {
		text string
		c    Credentials
	}{
		"password":           {g.addr, Credentials{Password: secret}},
		"user":               {"redis://me@" + g.addr, Credentials{Password: secret}},
		"user without any":   {"redis://open@" + g.addr, Credentials{}},
		"database":           {"redis://" + g.addr + "/7", Credentials{Password: secret}},
		"TLS":                {"rediss://me@" + g.tls, Credentials{Password: secret, CA: g.files.CA}},
		"TLS by name":        {"rediss://me@localhost:" + g.tls[len("127.0.0.1:"):] + "/3", Credentials{Password: secret, CA: g.files.CA}},
		"client certificate": {"rediss://me@" + g.tls, Credentials{Password: secret, CA: g.files.CA, Cert: g.files.Cert, Key: g.files.Key}},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := ParseEndpoint(test.text, test.c)
			require.NoError(t, err)
			remote, err := At(servertest.Bounded(t), at)
			require.NoError(t, err)
			require.NoError(t, remote.Try(servertest.Bounded(t), "locklab:trial", []string{"EVAL", "SETNX", "GETSET", "WATCH", "EXEC", "EXPIRE", "CREATE"}))
			require.NoError(t, Lay(servertest.Bounded(t), at, [][]any{{"SET", "locklab:key", at.DB, "PX", 100_000}}))
			require.NoError(t, with(servertest.Bounded(t), Endpoint{Addr: g.addr, Password: secret, DB: at.DB}, func(client redisclient.Client) error {
				assert.Equal(t, []string{"locklab:key"}, client.Keys(t.Context(), "*").Val())
				assert.Equal(t, strconv.Itoa(at.DB), client.Get(t.Context(), "locklab:key").Val())
				return nil
			}))
			moved, _, err := JumpClockOf(servertest.Bounded(t), at, []string{"locklab:key"}, time.Second)
			require.NoError(t, err)
			require.Equal(t, 1, moved)
			identity, err := remote.Identity(servertest.Bounded(t))
			require.NoError(t, err)
			require.NotEmpty(t, identity.RunID)
			deleted, err := DeleteKeys(servertest.Bounded(t), at, []string{"locklab:key"})
			require.NoError(t, err)
			require.Equal(t, int64(1), deleted)
		})
	}
}

// Why a server does not let the lab in is one line that says what to do, and shows no secret.
func TestWhyAServerDoesNotLetTheLabIn(t *testing.T) {
	needs.Long(t, "asks for every reason")
	t.Parallel()
	g := startGuarded(t)
	none := startRedis(t)
	silent := answering(t, "silence")
	for name, test := range map[string]struct {
		text    string
		c       Credentials
		prepare []any
		want    string
	}{
		"no password":       {g.addr, Credentials{}, nil, "it asks for a password, and the lab has none; set LOCKLAB_PASSWORD or give --password-file: NOAUTH"},
		"no password, TLS":  {"rediss://" + g.tls, Credentials{CA: g.files.CA}, nil, "it asks for a password"},
		"database, none":    {"redis://" + g.addr + "/2", Credentials{}, nil, "it asks for a password"},
		"wrong password":    {g.addr, Credentials{Password: "wrong" + secret}, nil, "it refuses the password: WRONGPASS"},
		"wrong of a user":   {"redis://me@" + g.addr, Credentials{Password: "wrong" + secret}, nil, `it refuses user "me", or the password: WRONGPASS`},
		"unknown user":      {"redis://nobody@" + g.addr, Credentials{Password: secret}, nil, `it refuses user "nobody", or the password: WRONGPASS`},
		"user without it":   {"redis://me@" + g.addr, Credentials{}, nil, `it refuses user "me" without a password: WRONGPASS`},
		"none asked for":    {none.Addr(), Credentials{Password: secret}, nil, "it asks for no password, and the lab has one"},
		"no such database":  {"redis://" + g.addr + "/16", Credentials{Password: secret}, nil, "it has no database 16: ERR DB index is out of range"},
		"unknown authority": {"rediss://" + g.tls, Credentials{Password: secret}, nil, "signed by an authority that is not trusted here"},
		"expired": {"rediss://" + g.tls, Credentials{Password: secret, CA: g.files.CA},
			[]any{"CONFIG", "SET", "tls-cert-file", g.files.Expired, "tls-key-file", g.files.ExpiredKey}, "its certificate is not valid now (from "},
		"client certificate": {"rediss://" + g.tls, Credentials{Password: secret, CA: g.files.CA},
			[]any{"CONFIG", "SET", "tls-auth-clients", "yes"}, "it may ask for a client's certificate: give --tls-cert and --tls-key"},
		"client's expired": {"rediss://" + g.tls, Credentials{Password: secret, CA: g.files.CA, Cert: g.files.Expired, Key: g.files.ExpiredKey},
			[]any{"CONFIG", "SET", "tls-auth-clients", "yes"}, "check --tls-cert and --tls-key"},
		"plain, TLS":  {"redis://" + g.tls, Credentials{}, nil, "it speaks TLS there; write rediss:// for a port with TLS"},
		"TLS, plain":  {"rediss://" + g.addr, Credentials{Password: secret}, nil, "it does not speak TLS there; write redis:// for a port without TLS"},
		"TLS, silent": {"rediss://" + silent, Credentials{}, nil, "it does not answer to TLS within 4s"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.prepare != nil {
				g.as(t, func(client redisclient.Client) error { return client.Do(t.Context(), test.prepare...).Err() })
				defer g.as(t, func(client redisclient.Client) error {
					return client.Do(t.Context(), "CONFIG", "SET", "tls-auth-clients", "no", "tls-cert-file", g.files.Cert, "tls-key-file", g.files.Key).Err()
				})
			}
			at, err := ParseEndpoint(test.text, test.c)
			require.NoError(t, err)
			_, err = At(servertest.Bounded(t), at)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "redis at ")
			assert.NotContains(t, err.Error(), "\n")
			assert.NotContains(t, err.Error(), secret)
		})
	}
}

// A server that quotes what it does not know must not have the lab print the password.
func TestAServerThatQuotesThePassword(t *testing.T) {
	at := Endpoint{Addr: answering(t, "-ERR unknown command 'AUTH', with args beginning with: '"+secret+"' \r\n"), Password: secret}
	_, err := At(servertest.Bounded(t), at)
	require.ErrorContains(t, err, "it refuses: AUTH: ERR unknown command 'AUTH', with args beginning with: '***'")
	require.NotContains(t, err.Error(), secret)
}

// What a user may not do is found before the first cell.
func TestUsersThatMayNot(t *testing.T) {
	g := startGuarded(t)
	at, err := ParseEndpoint("redis://meek@"+g.addr, Credentials{Password: secret})
	require.NoError(t, err)
	remote, err := At(servertest.Bounded(t), at)
	require.NoError(t, err)
	require.NoError(t, remote.Try(servertest.Bounded(t), "locklab:trial", []string{"SET", "DEL"}))
	for command, want := range map[string]string{"EVAL": "may not send EVAL as a lock of this run does: NOPERM", "SETNX": "may not send SETNX"} {
		err = remote.Try(servertest.Bounded(t), "locklab:trial", []string{command})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "--lock")
		require.NotContains(t, err.Error(), "\n")
	}
	err = remote.Try(servertest.Bounded(t), "other:trial", nil)
	require.ErrorContains(t, err, "may not send SET as the lab does: NOPERM")
	g.as(t, func(client redisclient.Client) error {
		assert.Empty(t, client.Keys(t.Context(), "*").Val())
		return nil
	})
}
