//go:build linux || darwin

package live_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// verbTest is a script with one thing in it that a step can do, and what must come of it. Leases are long except where a script
// waits for their end.
type verbTest struct {
	lock    string
	text    string
	verdict string
	story   []string
}

func verbTests() map[string]verbTest {
	return map[string]verbTest{
		"operations": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire => no
			C1 work => ok
			C1 check => ok
			C1 release => ok
			C2 acquire within 10s => ok
			C2 work => ok
			C2 release => ok`,
			"safe", []string{"C1 acquire: ok", "C2 acquire: no", "C1 work: ok", "C1 check: ok", "C1 release: ok", "C2 acquire: ok",
				"C2 work: ok", "C2 release: ok", "counter 2"}},

		"await in background": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire within 10s in background
			C1 release => ok
			C2 await => ok
			C2 release => ok`,
			"safe", []string{"C1 acquire: ok", "C2 acquire", "C1 release", "C2 acquire: ok"}},

		"hold a request": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire hold before first write => held-up
			C2 acquire => ok
			C2 release => ok
			C1 continue => ok
			C1 release => ok`,
			"safe", []string{"C1 acquire", "C1 hold: effective", "C2 acquire: ok", "C2 release: ok", "C1 sends SET", "C1 acquire: ok"}},

		"hold at two requests": {"getset", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire hold before first SETNX, hold before first GET => held-up
			C2 continue => held-up
			C1 release => ok
			C2 continue => ok
			C2 release => ok`,
			"safe", []string{"C2 acquire", "C2 hold: effective", "C2 sends SETNX", "C2 hold: effective", "C1 release: ok", "C2 sends GET", "C2 acquire: ok"}},

		"hold a reply": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire hold reply of first write => held-up
			C2 acquire => no
			C1 continue => ok
			C1 release => ok`,
			"safe", []string{"C1 sends SET", "C1 hold-reply: effective", "C2 acquire: no", "C1 acquire: ok"}},

		"drop a reply": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire drop reply of first write => held-up
			C1 give up => unknown
			C2 acquire => no`,
			"ghost-lock", []string{"C1 sends SET unheard", "C1 reply-lost: effective", "C1 acquire: unknown", "C2 acquire: no"}},

		"give up before the request arrives": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire hold before first write => held-up
			C1 give up => unknown
			C1 continue => done
			C2 acquire => no`,
			"ghost-lock", []string{"C1 hold: effective", "C1 acquire: unknown", "C1 sends SET late", "C2 acquire: no"}},

		"hold a copy": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold copy of first DEL => ok
			C2 acquire => ok
			C1 arrives late`,
			"wrongful-delete", []string{"C1 sends DEL", "C1 hold-copy: effective", "C1 release: ok", "C2 acquire: ok", "C1 hold-copy: recover",
				"C1 sends DEL again late unheard"}},

		"a copy of a transaction": {"setnx-watch", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold copy of first EXEC => ok
			C2 acquire => ok
			C1 continue => done`,
			"wrongful-delete", []string{"C1 sends exec", "C1 hold-copy: effective", "C1 release: ok", "C2 acquire: ok", "C1 sends exec again late unheard"}},

		"late beside what is held": {"setpx-del-resend", `
			lease 60s
			clients C1 C2
			C1 acquire hold before first SET, hold before second SET => held-up
			C1 lose replies
			C1 heal
			C1 await => held-up
			C1 arrives late
			C1 continue => no
			C2 acquire => no`,
			"ghost-lock", []string{"C1 hold: effective", "C1 hold: effective", "C1 hold: recover", "C1 sends SET", "C1 hold: recover",
				"C1 sends SET", "C1 acquire: no", "C2 acquire: no"}},

		"duplicate": {"setpx-del", `
			lease 60s
			clients C1
			C1 acquire duplicate first write => ok
			C1 release => ok`,
			"safe", []string{"C1 acquire", "C1 sends SET", "C1 duplicate: effective", "C1 release"}},

		"pause": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 pause
			C2 acquire => no
			C1 resume
			C1 release => ok`,
			"safe", []string{"C1 pause: inject", "C1 pause: effective", "C2 acquire: no", "C1 pause: recover", "C1 release: ok"}},

		"crash": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 crash
			C2 acquire => no`,
			"safe", []string{"C1 crash: inject", "C1 exit", "C1 crash: effective", "C2 acquire: no"}},

		"a thread dies": {"setpx-lua", `
			lease 60s
			clients C1 C1.b
			C1 acquire => ok
			C1 thread dies
			C1.b acquire => no`,
			"safe", []string{"C1 acquire: ok", "C1 exit", "C1.b acquire: no"}},

		"continue in background": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire within 10s hold before first write => held-up
			C2 continue in background
			C1 release => ok
			C2 await => ok`,
			"safe", []string{"C2 hold: effective", "C2 hold: recover", "C1 release: ok", "C2 acquire: ok"}},

		"hold a renewal": {"watchdog", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			C1 renews hold before first write => held-up
			C1 release => ok
			C2 acquire => ok
			C1 continue => done
			C2 release => ok`,
			"safe", []string{"C1 hold: effective", "C1 release: ok", "C2 acquire: ok", "C1 hold: recover", "C1 sends EVAL", "C2 release: ok"}},

		"wait until renewed": {"watchdog", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until renewed => ok
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: ok"}},

		"wait in vain until renewed": {"setpx-lua", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until renewed => no`,
			"safe", []string{"C1 acquire: ok"}},

		"a release given up in time": {"setpx-lua-published/endless-release", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until expired => expired
			C1 release within 1.5 leases => unknown`,
			"no-return", []string{"C1 acquire: ok", "C1 release", "C1 release: unknown"}},

		"two locks of a process on one key": {"setpx-lua", `
			lease 60s
			clients C1 C1.b
			C1 acquire => ok
			C1.b acquire => no
			C1.b work
			C1 work => ok
			C1.b acquire within 10s hold before first write => held-up
			C1 release => ok
			C1.b continue => ok
			C1.b work => ok
			C1.b release => ok`,
			"safe", []string{"C1.b acquire: no", "skipped: C1.b work", "C1 work: ok", "C1.b hold: effective", "C1 release: ok", "C1.b sends SET",
				"C1.b acquire: ok", "C1.b work: ok", "counter 2"}},

		"two locks of a process on two keys": {"setpx-lua", `
			lease 60s
			clients C1 C1.b C2
			other-key C1.b
			C1 acquire => ok
			C1.b acquire => ok
			C1.b work => ok
			C2 acquire => no
			C1 crash`,
			"safe", []string{"C1.b acquire: ok", "C1.b work: ok", "C2 acquire: no", "C1 crash: inject", "C1 exit", "C1.b exit", "C1 crash: effective",
				"counter 0", "counter 1"}},

		"what befalls a process befalls all its locks": {"setpx-lua", `
			lease 60s
			clients C1 C1.b C2
			C1.b acquire => ok
			C1 cut off
			C1.b release in background
			C2 acquire => no
			C1 heal
			C1.b await => ok
			C2 acquire => ok
			C1 refuse
			C1.b acquire => unknown
			C1 heal`,
			"safe", []string{"C1 partition: effective", "C1.b release", "C2 acquire: no", "C1.b release: ok", "C1 refuse: effective", "C1.b acquire: unknown"}},

		"clock ahead": {"getset", `
			lease 60s
			clients C1 C2
			C2 clock ahead 2 leases
			C1 acquire => ok
			C2 acquire => ok`,
			"double-holder, early-grant, overwrite", []string{"C2 skew: inject", "C2 skew: effective", "C1 acquire: ok", "C2 acquire: ok"}},

		"clock behind": {"getset", `
			lease 60s
			clients C1 C2
			C1 clock behind 2 leases
			C1 acquire => ok
			C2 acquire => ok`,
			"double-holder, early-grant, overwrite", []string{"C1 skew: effective", "C1 acquire: ok", "C2 acquire: ok"}},

		"clock right again": {"getset", `
			lease 60s
			clients C1 C2
			C2 clock ahead 2 leases
			C2 clock right
			C1 acquire => ok
			C2 acquire => no`,
			"safe", []string{"C2 skew: effective", "C2 skew: inject", "C2 skew: effective", "C2 acquire: no"}},

		"clock rate": {"getset", `
			lease 60s
			clients C1 C2
			C2 clock rate 1000
			C1 acquire => ok
			C2 acquire within 50s => ok`,
			"double-holder, early-grant, overwrite", []string{"C2 skew: effective", "C1 acquire: ok", "C2 sends SETNX", "C2 acquire: ok"}},

		"cut off": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 cut off
			C1 release in background
			C2 acquire => no
			C1 heal
			C1 await => ok
			C2 acquire => ok`,
			"safe", []string{"C1 partition: effective", "C1 release", "C2 acquire: no", "C1 sends DEL", "C1 release: ok", "C2 acquire: ok"}},

		"cut off requests": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 cut off requests
			C1 release in background
			C2 acquire => no
			C1 heal
			C1 await => ok
			C2 acquire => ok`,
			"safe", []string{"C1 partition: effective", "C1 release", "C2 acquire: no", "C1 sends DEL", "C1 release: ok", "C2 acquire: ok"}},

		"cut off replies": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 cut off replies
			C1 release in background
			C2 acquire within 10s => ok
			C1 heal
			C1 await => ok`,
			"safe", []string{"C1 partition: effective", "C1 sends DEL", "C2 acquire: ok", "C1 release: ok"}},

		"refuse": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 refuse
			C1 check => unknown
			C1 heal
			C1 check => ok
			C1 release => ok
			C2 acquire => ok`,
			"safe", []string{"C1 refuse: effective", "C1 check: unknown", "C1 refuse: recover", "C1 check: ok", "C1 release: ok"}},

		"delay": {"setpx-lua", `
			lease 60s
			clients C1
			C1 acquire => ok
			C1 delay 40ms
			C1 check => ok
			C1 heal
			C1 release => ok`,
			"safe", []string{"C1 delay: effective", "C1 check: ok", "C1 delay: recover", "C1 release: ok"}},

		"lose replies": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 lose replies
			C1 release in background
			C2 acquire within 10s => ok
			C1 heal
			C1 await => unknown
			C2 release => ok`,
			"safe", []string{"C1 reply-lost: inject", "C1 reply-lost: effective", "C1 sends DEL", "C2 acquire: ok", "C1 release: unknown", "C2 release: ok"}},

		"wait until expired": {"setpx-lua", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			wait until expired => expired
			C2 acquire => ok`,
			"double-holder", []string{"C1 acquire: ok", "C2 acquire: ok"}},

		"waits": {"redisson-fair", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire within 10s in background
			C2 waits => done
			C1 release => ok
			C2 await => ok`,
			"safe", []string{"C2 acquire", "C2 sends EVALSHA", "C2 sends EVAL", "C1 release", "C2 acquire: ok"}},

		"thread dies": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 thread dies
			C2 acquire => no`,
			"safe", []string{"C1 acquire: ok", "C1 thread-death: inject", "C1 thread-death: effective", "C1 exit", "C2 acquire: no"}},

		"a thread dies, what it began goes on": {"watchdog", `
			lease 2s
			clients C1
			C1 acquire => ok
			C1 thread dies
			wait until renewed => ok
			wait until expired => live`,
			"safe", []string{"C1 thread-death: effective", "C1 exit", "C1 sends EVAL"}},

		"an operator limits the lock": {"setnx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold before first DEL => held-up
			operator limits lock to 50ms
			wait until freed => ok
			C2 acquire => ok
			C1 continue => ok`,
			"wrongful-delete", []string{"C1 acquire: ok", "redis operator: inject", "redis operator: effective", "C2 acquire: ok"}},

		"await what was held and then cut": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold before first DEL => held-up
			C1 lose replies
			C1 heal
			C1 await => unknown
			C1 work
			C1 release => ok
			C1 release
			C2 acquire => ok`,
			"safe", []string{"C1 hold: effective", "C1 reply-lost: effective", "C1 reply-lost: recover", "C1 release",
				"C1 sends DEL", "C1 release: ok", "C2 acquire: ok", "counter 0"}},

		"a lock that is taken again": {"redisson", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 acquire => ok
			C1 release => ok
			C1 work => ok
			C2 acquire => no
			C1 release => ok
			C1 work
			C2 acquire => ok`,
			"safe", []string{"C1 acquire: ok", "C1 acquire: ok", "C1 release: ok", "C1 work: ok", "C2 acquire: no", "C1 release: ok",
				"C2 acquire: ok", "counter 1"}},

		"no work after a check that said no": {"getset", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			wait until expired => expired
			C2 acquire => ok
			C1 check => no
			C1 work
			C1 release => no`,
			"double-holder", []string{"C2 acquire: ok", "C1 check: no", "C1 release: no", "counter 0"}},

		"wait until expired by the reader's clock": {"getset", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			wait until expired => expired
			C2 acquire => ok`,
			"double-holder", []string{"C1 acquire: ok", "C2 sends GETSET", "C2 acquire: ok"}},

		"wait for a lock that renews itself": {"watchdog", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until expired => live
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: ok"}},

		"wait until freed": {"setpx-lua", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			C1 crash
			wait until freed => ok
			C2 acquire => ok`,
			"safe", []string{"C1 crash: effective", "C2 acquire: ok"}},

		"wait in vain until freed": {"setnx-del", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until freed => no
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: ok"}},

		"server clock jumps": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server clock jumps 0.5 leases
			C2 acquire => no
			server clock jumps 1 lease
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"redis clock-jump: inject", "redis clock-jump: effective", "C2 acquire: no",
				"redis clock-jump: inject", "redis clock-jump: effective", "C2 acquire: ok"}},

		"server restarts empty": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server restarts empty
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"redis restart: inject", "redis restart: effective", "C2 acquire: ok"}},
	}
}

func TestEveryVerb(t *testing.T) {
	s := openStage(t, nil)
	for name, test := range verbTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell, events := s.play(t, script(t, name, test.text), subject(t, test.lock))
			assert.Equal(t, test.verdict, cell.Verdict.String(), "%+v", cell.Verdict)
			tells(t, events, append(test.story, "end: complete")...)
			faultsAreEvident(t, events)
			switch name {
			case "delay":
				assert.GreaterOrEqual(t, took(t, events, history.OpCheck), 80*time.Millisecond)
			case "duplicate", "hold a copy":
				assert.Equal(t, 1, again(events))
			}
		})
	}
}

// took is how long the first operation of that kind was under way.
func took(t *testing.T, events []history.Event, op history.Op) time.Duration {
	t.Helper()
	var called time.Duration
	for _, e := range events {
		if e.Op == op && e.Kind == history.KindCall {
			called = e.At
		}
		if e.Op == op && e.Kind == history.KindReturn {
			return e.At - called
		}
	}
	require.Fail(t, "the operation has not returned")
	return 0
}

// again counts the commands that reached the server a second time.
func again(events []history.Event) (n int) {
	for _, e := range events {
		if e.Kind == history.KindCommand && e.Detail.Command.Again {
			n++
		}
	}
	return n
}

// TestNoVerbIsForgotten asserts that the table above has whatever a script can say.
func TestNoVerbIsForgotten(t *testing.T) {
	verbs := map[scenarios.Verb]bool{}
	ops := map[history.Op]bool{history.OpRenew: true} // no lock that comes with the lab can be renewed by its user
	actions := map[scenarios.Action]bool{}
	sides := map[scenarios.Side]bool{}
	for name, test := range verbTests() {
		for _, step := range script(t, name, test.text).Steps {
			verbs[step.Verb], ops[step.Op] = true, true
			if step.Verb == scenarios.VerbCutOff {
				sides[step.Side] = true
			}
			for _, trap := range step.Traps {
				actions[trap.Do] = true
			}
		}
	}
	for verb := scenarios.VerbOp; verb <= scenarios.VerbRestart; verb++ {
		assert.True(t, verbs[verb], "verb %d", verb)
	}
	for op := history.OpAcquire; op <= history.OpWork; op++ {
		assert.True(t, ops[op], op.String())
	}
	for action := scenarios.HoldRequest; action <= scenarios.HoldCopy; action++ {
		assert.True(t, actions[action], "action %d", action)
	}
	assert.Len(t, sides, 3)
}
