// Package probe reads the state of keys on behalf of the lab: what a history has before and after each command, and what scripts wait for.
// It owns what a TTL and a value of a key mean, for taps and for the model alike. It must not know a connection, only a Conn.
package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/faults/resp"
	"github.com/locklab/locklab/history"
)

// Conn asks one server questions of the lab's own.
type Conn interface {
	// Send queues a question.
	Send(args ...string)
	// Receive is the answer to the oldest question that has none yet.
	Receive() (resp.Value, error)
}

// States reads the state of each key into states, in one round trip where all are strings or absent.
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
	value, err := Ask(c, reading(kind.Text, key)...)
	switch kind.Text {
	case "hash":
		sortPairs(value.List)
	case "set":
		slices.SortFunc(value.List, func(a, b resp.Value) int { return strings.Compare(a.Text, b.Text) })
	}
	state.Type, state.Value = kind.Text, commands.ClipValue(value.String())
	return err
}

// reading is the command that reads a key that holds no string.
func reading(kind, key string) []string {
	switch kind {
	case "hash":
		return []string{"HGETALL", key}
	case "set":
		return []string{"SMEMBERS", key}
	case "list":
		return []string{"LRANGE", key, "0", "-1"}
	case "zset":
		return []string{"ZRANGE", key, "0", "-1", "WITHSCORES"}
	case "stream":
		return []string{"XRANGE", key, "-", "+"}
	}
	return []string{"DUMP", key}
}

// sortPairs sorts a list of keys and values in turn by its keys.
func sortPairs(list []resp.Value) {
	pairs := slices.Collect(slices.Chunk(slices.Clone(list), 2))
	slices.SortFunc(pairs, func(a, b []resp.Value) int { return strings.Compare(a[0].Text, b[0].Text) })
	copy(list, slices.Concat(pairs...))
}

// Values reads what stands under a key, piece by piece: the text of a string, the elements of a list, those of a set sorted, or the fields
// of a hash, sorted, each followed by its value; nothing where there is no key.
func Values(c Conn, key string) ([]string, error) {
	kind, err := Ask(c, "TYPE", key)
	switch {
	case err != nil || kind.Text == "none":
		return nil, err
	case kind.Text == "string":
		value, err := Ask(c, "GET", key)
		return []string{value.Text}, err
	}
	value, err := Ask(c, reading(kind.Text, key)...)
	if err != nil {
		return nil, err
	}
	switch kind.Text {
	case "hash":
		sortPairs(value.List)
	case "set":
		slices.SortFunc(value.List, func(a, b resp.Value) int { return strings.Compare(a.Text, b.Text) })
	}
	texts := make([]string, len(value.List))
	for i, element := range value.List {
		texts[i] = element.Text
	}
	return texts, nil
}

// leastTTL stands for a remaining time that the server rounds to 0 ms: in a State, zero means that the key has no expiry.
const leastTTL = time.Microsecond

// TTL is the remaining time that PTTL answered: zero for a key without expiry, or that is absent.
func TTL(milliseconds int64) time.Duration {
	switch {
	case milliseconds < 0:
		return 0
	case milliseconds == 0:
		return leastTTL
	}
	return time.Duration(milliseconds) * time.Millisecond
}

// Ask sends one question and reads the answer; an error reply is an error.
func Ask(c Conn, args ...string) (resp.Value, error) {
	c.Send(args...)
	answer, err := c.Receive()
	if err == nil && answer.IsError() {
		err = refused(answer)
	}
	return answer, err
}

func refused(v resp.Value) error { return fmt.Errorf("the server answered a state probe: %s", v.Text) }
