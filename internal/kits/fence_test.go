package kits_test

import (
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
)

const twoGrants = `
lease    1s
clients  C1 C2

C1  acquire => ok
C1  release => ok
C2  acquire => ok
C2  release => ok
`

const lateWork = `
lease    1s
clients  C1 C2

C1  acquire => ok
    wait until expired
C2  acquire => ok
C2  work => ok
C1  work => no
C2  work => ok
`

// TestFencesAreShown: the work under a lock that hands out fences shows them to the resource, which refuses one from before.
func TestFencesAreShown(t *testing.T) {
	needs.Long(t, "fences at work")
	t.Parallel()
	for name, client := range map[string]func(*testing.T) play.Subject{
		"python": func(t *testing.T) play.Subject { return fencedInPython(t, growsInPython) },
		"node":   func(t *testing.T) play.Subject { return fencedInNode(t, growsInNode) },
		"go":     fencedInGo,
		"java":   fencedInJava,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, cell := plays(t, client(t), lateWork)
			assert.False(t, cell.Surprise(), cell.Verdict.String())
			assert.NotEqual(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
			assert.NotContains(t, cell.Verdict.Names(), checker.StaleWrite)
			assert.NotContains(t, cell.Verdict.Names(), checker.LostUpdate)
		})
	}
}

// TestFencesOfZeroAreShown: kits leave it to the lab to refuse a fence that is out of range, and hide none.
func TestFencesOfZeroAreShown(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(t *testing.T, fence string) play.Subject{"python": fencedInPython, "node": fencedInNode} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := miniredis.RunT(t)
			c := begins(t, client(t, "0"), server.Addr(), server.Addr())
			c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":60000`)
			require.EqualValues(t, 0, c.asks("ok", `"do":"acquire","handle":"h1"`)["fence"])
			c.asks("ok", `"do":"work","handle":"h1","key":"counter"`)
			shown, err := server.Get("counter:fence")
			require.NoError(t, err)
			require.Equal(t, "0", shown)
		})
	}
}

const (
	growsInPython = `self.server().command("INCR", self.key + ":fence")`
	growsInNode   = `Number((await this.command('INCR', this.key + ':fence')).slice(1))`
)

// TestFences: a lock in Python or JavaScript may hand out fencing tokens, and those that do not grow are noticed.
func TestFences(t *testing.T) {
	needs.Long(t, "fences of a client")
	t.Parallel()
	for name, test := range map[string]struct {
		client func(t *testing.T, fence string) play.Subject
		grows  string
	}{
		"python": {fencedInPython, growsInPython},
		"node":   {fencedInNode, growsInNode},
	} {
		for how, fence := range map[string]string{"grows": test.grows, "stays": "5"} {
			t.Run(name+" "+how, func(t *testing.T) {
				if how == "grows" {
					needs.Long(t, "a sound lock")
				}
				t.Parallel()
				_, cell := plays(t, test.client(t, fence), twoGrants)
				assert.Equal(t, how == "stays", slices.Contains(cell.Verdict.Names(), checker.FenceRegression), cell.Verdict.String())
			})
		}
	}
}

func fencedInPython(t *testing.T, fence string) play.Subject {
	return adapter(t, `
class Fenced(Lock):
    def acquire(self):
        return super().acquire() and {"fence": int(`+fence+`), "valid_ms": 900}

locklab.serve(Fenced, name="fenced", promises=PROMISES)
`)
}

func fencedInNode(t *testing.T, fence string) play.Subject {
	t.Helper()
	return beside(t, "node", "node", "fenced.js", `
import net from 'node:net';
import {serve} from './locklab.js';

class Lock {
  constructor([server], key, lease) { Object.assign(this, {server, key, lease}); }
  command(...words) {
    return new Promise((answered, failed) => {
      const socket = net.connect(this.server.port, this.server.host);
      socket.on('error', failed).on('data', (data) => { socket.destroy(); answered(String(data)); });
      socket.write('*' + words.length + '\r\n' + words.map((word) => '$' + word.length + '\r\n' + word + '\r\n').join(''));
    });
  }
  async acquire() { return await this.command('SET', this.key, 'mine', 'NX', 'PX', String(this.lease)) === '+OK\r\n' && {fence: `+fence+`}; }
  async release() { return await this.command('DEL', this.key) === ':1\r\n'; }
}

serve(Lock, {name: 'fenced', promises: ['exclusion']});
`)
}

func fencedInGo(t *testing.T) play.Subject {
	return changed(t, "go", "main.go", "l.token = token\n", "l.token, op.Answer[\"fence\"] = token, l.redis.Incr(op, l.Key+\":fence\").Val()\n")
}

func fencedInJava(t *testing.T) play.Subject {
	return changed(t, "java", "Client.java", `return Map.of();`, `return Map.of("fence", Long.valueOf(redis.command("INCR", place.key() + ":fence")));`)
}
