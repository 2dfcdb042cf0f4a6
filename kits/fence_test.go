package kits_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/scenarios/play"
)

const twoGrants = `
lease    1s
clients  C1 C2

C1  acquire => ok
C1  release => ok
C2  acquire => ok
C2  release => ok
`

// TestFences: a lock in Python or JavaScript may hand out fencing tokens, and those that do not grow are noticed.
func TestFences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		client func(t *testing.T, fence string) play.Subject
		grows  string
	}{
		"python": {fencedInPython, `self.server().command("INCR", self.key + ":fence")`},
		"node":   {fencedInNode, `Number((await this.command('INCR', this.key + ':fence')).slice(1))`},
	} {
		for how, fence := range map[string]string{"grows": test.grows, "stays": "5"} {
			t.Run(name+" "+how, func(t *testing.T) {
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
  constructor([server], key) { Object.assign(this, {server, key}); }
  command(...words) {
    return new Promise((answered, failed) => {
      const socket = net.connect(this.server.port, this.server.host);
      socket.on('error', failed).on('data', (data) => { socket.destroy(); answered(String(data)); });
      socket.write('*' + words.length + '\r\n' + words.map((word) => '$' + word.length + '\r\n' + word + '\r\n').join(''));
    });
  }
  async acquire() { return await this.command('SETNX', this.key, 'mine') === ':1\r\n' && {fence: `+fence+`}; }
  async release() { return await this.command('DEL', this.key) === ':1\r\n'; }
}

serve(Lock, {name: 'fenced', promises: ['exclusion']});
`)
}
