package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

// TestSessionsOfTheModel asserts what becomes of a session when its client's link or process has a fault: it moves to another connection, or its end
// is noticed as soon as the client can know.
func TestSessionsOfTheModel(t *testing.T) {
	tests := map[string]struct {
		lock, text string
		verdict    string
		lost       bool
		conns      int // of C1, to the lock server, of the requests of its operations; 0: any number
	}{
		"moves":                        {"zookeeper", "C1 acquire => ok\nC1 cut off\nwait for 1500ms\nC1 heal\nC1 check => ok\nC2 acquire => no\nC1 release => ok", "safe", false, 2},
		"is cut off for a short time":  {"zookeeper", "C1 acquire => ok\nC1 cut off\nwait for 1s\nC1 heal\nC1 check => ok\nC2 acquire => no\nC1 release => ok", "safe", false, 1},
		"ends":                         {"zookeeper", "C1 acquire => ok\nC1 cut off\nwait for 2200ms\nC1 heal\nC1 check => no\nC2 acquire => ok\nC2 release => ok", "safe", true, 2},
		"is paused for a short time":   {"zookeeper", "C1 acquire => ok\nC1 pause\nwait for 1s\nC1 resume\nC1 check => ok\nC2 acquire => no\nC1 release => ok", "safe", false, 1},
		"is paused for long":           {"zookeeper", "C1 acquire => ok\nC1 pause\nwait for 3s\nC1 resume\nC1 check => no\nC2 acquire => ok", "safe", true, 2},
		"lasts while its client idles": {"zookeeper", "C1 acquire => ok\nwait for 20s\nC1 check => ok\nC2 acquire => no\nC1 release => ok", "safe", false, 1},
		"is refused":                   {"zookeeper", "C1 acquire => ok\nC1 refuse\nC1 release => unknown\nC1 heal\nC2 acquire => no\nC1 release => ok\nC2 acquire => ok", "safe", false, 2},
		"is refused for long":          {"zookeeper", "C1 acquire => ok\nC1 refuse\nwait for 3s\nC1 heal\nC2 acquire => ok", "safe", true, 0},
		"is told behind a held reply": {
			"zookeeper", "C2 acquire => ok\nC1 acquire within 10s hold reply of second EXISTS => held-up\nC2 release => ok\nC1 continue => ok\nC1 release => ok", "safe", false, 1,
		},
		"learns of a watch on its next connection": {
			"zookeeper-herd", "C2 acquire => ok\nC1 acquire within 10s in background\nC1 waits\nC1 refuse\nC2 release => ok\nC1 heal\nC1 await => ok\nC1 release => ok", "safe", false, 2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, events := playText(t, test.lock, "lease 2s\nclients C1 C2\n"+test.text, "")
			assert.Equal(t, test.verdict, cell.Verdict.String())
			lost, conns := false, map[int64]bool{}
			called := map[int64]time.Duration{}
			for _, e := range events {
				switch e.Kind {
				case history.KindCall:
					called[e.ID] = e.At
				case history.KindReturn: // a waiter that is not woken tries again at the end of its 10 s
					assert.Less(t, e.At-called[e.ID], 2*time.Second, "%s of %s", e.Op, e.Client)
				}
				lost = lost || e.Kind == history.KindLost && e.Client == "C1"
				if e.Kind == history.KindCommand && e.Client == "C1" && e.ID != 0 {
					conns[e.Detail.Command.Conn] = true
				}
			}
			assert.Equal(t, test.lost, lost)
			if test.conns > 0 {
				assert.Len(t, conns, test.conns)
			}
		})
	}
}

// TestAnEndedSessionIsNoticed as soon as its client reaches the server: a message there, and one back.
func TestAnEndedSessionIsNoticed(t *testing.T) {
	_, events := playText(t, "zookeeper", "lease 2s\nclients C1\nC1 acquire => ok\nC1 cut off\nwait for 3s\nC1 heal\nC1 check => no", "")
	var healed, lost time.Duration
	for _, e := range events {
		switch {
		case e.Kind == history.KindFault && e.Detail.Fault.Phase == history.PhaseRecover:
			healed = e.At
		case e.Kind == history.KindLost:
			lost = e.At
		}
	}
	assert.Equal(t, 200*time.Microsecond, lost-healed)
}
