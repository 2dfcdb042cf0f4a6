// Package probe reads the state of keys: the states that a history records before and after each command, and those that scripts wait for.
// It owns the meaning of a key's TTL and value, for the tap and the model alike. It must not know a connection, only a Conn.
package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/resp"
)

// Conn sends one server the lab's own commands.
type Conn interface {
	// Send queues a command.
	Send(args ...string)
	// Receive returns the reply to the oldest command that has none yet.
	Receive() (resp.Value, error)
}

// States reads the state of each key into states, in one round trip if all are strings or absent.
func States(c Conn, keys []string, states []history.State) error {
	for _, key := range keys {
		c.Send("PTTL", key)
		c.Send("GET", key)
	}
	var others []int
	for i := range keys {
		left, err := c.Receive()
		if err != nil {
			return err
		}
		value, err := c.Receive()
		switch {
		case err != nil:
			return err
		case left.IsError():
			return refused(left)
		case strings.HasPrefix(value.Text, "WRONGTYPE") && value.IsError():
			states[i].TTL = TTL(left.Int())
			others = append(others, i)
		case value.IsError():
			return refused(value)
		case !value.Null:
			states[i] = history.State{Type: "string", Value: commands.ClipValue(value.Text), TTL: TTL(left.Int())}
		}
	}
	for _, i := range others {
		if err := describe(c, &states[i], keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// describe fills in the type and the value of a key that holds no string.
func describe(c Conn, state *history.State, key string) error {
	kind, err := Ask(c, "TYPE", key)
	if err != nil {
		return err
	}
	if kind.Text == "none" {
		*state = history.State{}
		return nil
	}
	value, err := read(c, kind.Text, key)
	state.Type, state.Value = kind.Text, commands.ClipValue(value.String())
	return err
}

// read reads a key that holds no string. A hash is sorted by its fields, a set by its members.
func read(c Conn, kind, key string) (resp.Value, error) {
	switch kind {
	case "hash":
		value, err := Ask(c, "HGETALL", key)
		sortGroups(value.List, 2)
		return value, err
	case "set":
		value, err := Ask(c, "SMEMBERS", key)
		sortGroups(value.List, 1)
		return value, err
	case "list":
		return Ask(c, "LRANGE", key, "0", "-1")
	case "zset":
		return Ask(c, "ZRANGE", key, "0", "-1", "WITHSCORES")
	case "stream":
		return Ask(c, "XRANGE", key, "-", "+")
	}
	return Ask(c, "DUMP", key)
}

// sortGroups sorts groups of n elements by the first of each.
func sortGroups(list []resp.Value, n int) {
	groups := slices.Collect(slices.Chunk(slices.Clone(list), n))
	slices.SortFunc(groups, func(a, b []resp.Value) int { return strings.Compare(a[0].Text, b[0].Text) })
	copy(list, slices.Concat(groups...))
}

// Values reads the value of a key: the text of a string, the elements of a list, the sorted members of a set, or the sorted fields of a
// hash, each followed by its value; none if the key is absent.
func Values(c Conn, key string) ([]string, error) {
	kind, err := Ask(c, "TYPE", key)
	switch {
	case err != nil || kind.Text == "none":
		return nil, err
	case kind.Text == "string":
		value, err := Ask(c, "GET", key)
		return []string{value.Text}, err
	}
	value, err := read(c, kind.Text, key)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(value.List))
	for i, element := range value.List {
		texts[i] = element.Text
	}
	return texts, nil
}

// leastTTL stands for a TTL that the server rounds to 0 ms: in a State, zero means that the key has no expiry.
const leastTTL = time.Microsecond

// TTL is the reply of PTTL as a State has it: zero if the key is absent or has no expiry.
func TTL(milliseconds int64) time.Duration {
	switch {
	case milliseconds < 0:
		return 0
	case milliseconds == 0:
		return leastTTL
	}
	return time.Duration(milliseconds) * time.Millisecond
}

// Ask sends one command and reads its reply; an error reply is an error.
func Ask(c Conn, args ...string) (resp.Value, error) {
	c.Send(args...)
	answer, err := c.Receive()
	if err == nil && answer.IsError() {
		err = refused(answer)
	}
	return answer, err
}

func refused(v resp.Value) error { return fmt.Errorf("the server answered a state probe: %s", v.Text) }
