package programs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The places of actions are counted by hand.
func TestPlacesOfActions(t *testing.T) {
	for place, word := range map[int]string{
		setNX: "SETNX", setNXPX: "SET NX PX", setPX: "SET PX", get: "GET", del: "DEL", compareAndDelete: "compare and DEL", pExpire: "PEXPIRE",
		compareAndExpire: "compare and PEXPIRE", watchAndSet: "WATCH, GET, and SET PX", getSet: "GETSET", getDel: "GETDEL", increment: "INCR", decrement: "DECR",
		hashSet: "HSETNX", setAdd: "SADD", listPop: "LPOP",
	} {
		assert.Equal(t, word, actions[place].word)
	}
}

// A number stands for one lock, today and later: notes and tests name them.
func TestASeedIsOneLock(t *testing.T) {
	_, plain := Make(4)
	assert.Equal(t, "value: a constant; acquire: SET NX PX; if 1 quarters of a lease later: PEXPIRE; if not taken: PEXPIRE; release: if not taken: DEL", plain)
	_, rich := MakeRich(1)
	assert.Equal(t, "value: a token; acquire: if 1 quarters of a lease later: HSETNX; if 1 quarters of a lease later: APPEND; SET NX PX; PUBLISH; if it ends within 1 quarters of a lease: DEL of a number; release: if mine: GETDEL", rich)
}
