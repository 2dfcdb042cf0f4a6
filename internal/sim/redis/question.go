package redis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// State is what the server would say of a key, without a command of any client. A key that expires in this very millisecond has
// the least time left that is not none.
func (s *Server) State(name string) history.State {
	e := s.find(name)
	if e == nil {
		return history.State{}
	}
	state := history.State{Type: e.kind.String(), Value: e.text}
	if e.expires != never {
		state.TTL = max(e.expires-s.now, time.Microsecond)
	}
	switch e.kind {
	case aHash:
		state.Value = pairs(sortedKeys(e.hash), func(field string) string { return e.hash[field] })
	case aList:
		state.Value = strings.Join(e.list, " ")
	case aSet:
		state.Value = strings.Join(sortedKeys(e.set), " ")
	case aSortedSet:
		state.Value = pairs(sortedKeys(e.scores), func(member string) string {
			return strconv.FormatFloat(e.scores[member], 'g', -1, 64)
		})
	}
	return state
}

func pairs(keys []string, value func(string) string) string {
	words := make([]string, len(keys))
	for i, key := range keys {
		words[i] = key + " " + value(key)
	}
	return strings.Join(words, " ")
}

// Expiries are the times that the keys have left, in order, each once.
func (s *Server) Expiries() []time.Duration {
	var left []time.Duration
	for _, e := range s.keys {
		if e.expires != never {
			left = append(left, e.expires-s.now)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// Watching says whether a connection is in the middle of something.
func (s *Server) Watching(connection int) bool {
	c := s.conns[connection]
	return c != nil && !c.idle()
}
