package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/certs"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/report/rundir"
)

// hush is a password that no file, screen or list of processes may have.
const hush = "hush-hush@never/shown"

// leastRights is the ACL rule of docs/your-server.md.
const leastRights = "resetchannels &*locklab:* ~*locklab:* -@all +@read +@write +@scripting +@transaction +@pubsub +@connection +info"

// secured has the neighbours ask for a password, know a user with the rights that the lab needs, and listen with TLS as well. It returns that address.
func (n *neighbours) secured(t *testing.T) (tls string, files certs.Files) {
	t.Helper()
	files, err := certs.Make(t.TempDir())
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tls = listener.Addr().String()
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(tls)
	require.NoError(t, err)
	for _, command := range [][]any{
		{"CONFIG", "SET", "tls-cert-file", files.Cert, "tls-key-file", files.Key, "tls-ca-cert-file", files.CA, "tls-auth-clients", "yes"},
		{"CONFIG", "SET", "tls-port", port},
		append([]any{"ACL", "SETUSER", "lab", "on", ">" + hush}, words(leastRights)...),
		{"CONFIG", "SET", "requirepass", hush}, // this connection stays
	} {
		require.NoError(t, n.redis.Do(t.Context(), command...).Err())
	}
	return tls, files
}

func words(text string) (all []any) {
	for word := range strings.FieldsSeq(text) {
		all = append(all, word)
	}
	return all
}

// TestServersThatAskForAPassword plays cells at a Redis that asks for a password, with an ACL user that has the rights which the documentation names, over
// TLS, in another database and behind an outside toxiproxy. Nothing that the lab writes or starts shows the password, and every key is gone.
func TestServersThatAskForAPassword(t *testing.T) {
	needs.Long(t, "servers with a password and TLS")
	n := startNeighbours(t)
	before := n.belongings(t)
	tls, files := n.secured(t)
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(hush+"\n"), 0o600))
	_, tlsPort, err := net.SplitHostPort(tls)
	require.NoError(t, err)
	locks := []string{"take-turns", "--lock", "setpx-lua,redisson,setnx-watch,getset"}
	faults := []string{"pause-past-lease", "acquire-reply-lost", "server-clock-jumps"} // where commands go another way, and not only the password
	for name, test := range map[string]struct {
		env  string // the password
		args []string
		said string // on standard error
		more []string
	}{
		"password":         {hush, []string{"--server", n.addr}, "", nil},
		"user, file":       {"", []string{"--server", "redis://lab@" + n.addr, "--password-file", file}, "", nil},
		"in the URL":       {"", []string{"--server=redis://lab:" + url.QueryEscape(hush) + "@" + n.addr}, "can be read in the list of processes", nil},
		"TLS and database": {hush, []string{"--server", "rediss://lab@localhost:" + tlsPort + "/3", "--tls-ca", files.CA, "--tls-cert", files.Cert, "--tls-key", files.Key}, "", faults},
		"outside toxiproxy": {hush, []string{"--server", "rediss://lab@" + tls, "--tls-ca", files.CA, "--tls-cert", files.Cert, "--tls-key", files.Key,
			"--toxiproxy", n.api}, "", faults},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LOCKLAB_PASSWORD", test.env)
			lab := start(t, append(append([]string{"run", "--json", "-v", "--junit", "junit.xml", "--out", "out"}, test.args...), append(locks, test.more...)...)...)
			code := lab.exitCode(t, 3*patience)
			run, err := rundir.ReadRun(filepath.Join(lab.dir, "out"))
			require.NoError(t, err, lab.said(t))
			asExpected(t, code, run)
			lab.silent(t)
			stderr := read(t, lab.err)
			if assert.Contains(t, stderr, test.said); test.said == "" {
				assert.NotContains(t, stderr, "password")
			}

			// A client of the user's own sees plain RESP, and it does not inherit the password.
			spy := `env > env; cat /proc/[0-9]*/cmdline > cmdlines 2>&-; exec "$LOCKLAB_TEST_BINARY" worker`
			lab = start(t, append([]string{"run", "take-turns", "--json", "--like", "setpx-lua", "--client", spy}, test.args...)...)
			require.Equal(t, 0, lab.exitCode(t, 3*patience), lab.said(t))
			if test.said == "" { // what was typed in is in the list of processes
				assert.NotContains(t, read(t, filepath.Join(lab.dir, "cmdlines")), "hush-hush")
			}
			assert.NotContains(t, read(t, filepath.Join(lab.dir, "env")), "hush-hush")
			require.NoError(t, os.Remove(filepath.Join(lab.dir, "cmdlines")))
			lab.silent(t)
			assert.Equal(t, before, n.belongings(t))
			assert.Zero(t, n.redis.Do(t.Context(), "EVAL", "redis.call('SELECT', 3) return redis.call('DBSIZE')", 0).Val())
		})
	}
}

// silent asserts that no file of the lab has the password, in whatever form.
func (l *lab) silent(t *testing.T) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(l.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, form := range []string{hush, url.QueryEscape(hush), "hush-hush"} {
			assert.False(t, bytes.Contains(text, []byte(form)), path)
		}
		files++
		return err
	}))
	require.Greater(t, files, 2)
}

// TestKilledLabAtASecuredServer: the guard gets in, too, and deletes the keys of a lab that was killed.
func TestKilledLabAtASecuredServer(t *testing.T) {
	needs.Long(t, "one more kind of server")
	n := startNeighbours(t)
	before := n.belongings(t)
	tls, files := n.secured(t)
	t.Setenv("LOCKLAB_PASSWORD", hush)
	lab := start(t, "run", "--json", "--server", "rediss://lab@"+tls, "--tls-ca", files.CA, "--tls-cert", files.Cert, "--tls-key", files.Key,
		"--lock", "setpx-lua,watchdog", "--count", "20")
	eventually(t, patience, func() error {
		if _, keys := n.traces(t); keys == 0 {
			return errors.New("the lab has not come: " + lab.said(t))
		}
		return nil
	})
	lab.signal(t, syscall.SIGKILL)
	<-lab.ended
	lab.nothingLeft(t, patience)
	eventually(t, patience, func() error {
		if _, keys := n.traces(t); keys > 0 {
			return fmt.Errorf("%d keys are left", keys)
		}
		return nil
	})
	assert.Equal(t, before, n.belongings(t))
	lab.silent(t)
}

// TestTheRuleIsDocumented: the rights that these tests give the lab's user are those that the documentation names.
func TestTheRuleIsDocumented(t *testing.T) {
	assert.Contains(t, read(t, filepath.Join("..", "..", "docs", "your-server.md")), leastRights)
}
