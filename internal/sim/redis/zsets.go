package redis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/sim/service"
)

func zsetCommands() map[string]command {
	return map[string]command{
		"ZADD":    {arity: -4, run: zadd},
		"ZREM":    {arity: -3, run: removal(aSortedSet)},
		"ZSCORE":  {arity: 3, run: on(aSortedSet, service.Reply{}, zscore)},
		"ZINCRBY": {arity: 4, run: zincrby},
		"ZRANGE":  {arity: -4, run: zrange},
		"ZRANK":   {arity: 3, run: on(aSortedSet, service.Reply{}, zrank)},
		"ZCARD":   {arity: 2, run: size(aSortedSet)},
	}
}

func notAFloat() service.Reply { return failure("ERR value is not a valid float") }

// zadd knows no options.
func zadd(s *Server, _ *conn, args []string) service.Reply {
	if len(args)%2 != 0 {
		return s.syntaxError(args)
	}
	var scores []float64
	for i := 2; i < len(args); i += 2 {
		score, ok := parseScore(args[i])
		if !ok {
			return notAFloat()
		}
		scores = append(scores, score)
	}
	e, ok := s.aggregate(args[1], aSortedSet)
	if !ok {
		return wrongType()
	}
	before := len(e.scores)
	for i, score := range scores {
		e.scores[args[2*i+3]] = score
	}
	s.changed(args[1])
	return integer(int64(len(e.scores) - before))
}

func zscore(_ *Server, e *entry, args []string) service.Reply {
	score, there := e.scores[args[2]]
	if !there {
		return service.Reply{}
	}
	return bulk(formatScore(score))
}

func zrange(s *Server, c *conn, args []string) service.Reply {
	reply := rangeOf(aSortedSet, (*entry).ranked)(s, c, args)
	switch {
	case len(args) == 4:
		return reply
	case len(args) > 5 || !strings.EqualFold(args[4], "WITHSCORES"):
		return s.syntaxError(args)
	}
	e := s.find(args[1])
	var scored []service.Reply
	for _, member := range reply.List {
		scored = append(scored, member, bulk(formatScore(e.scores[member.Text])))
	}
	if reply.Kind == service.Array {
		reply.List = scored
	}
	return reply
}

func zrank(_ *Server, e *entry, args []string) service.Reply {
	if at := slices.Index(e.ranked(), args[2]); at >= 0 {
		return integer(int64(at))
	}
	return service.Reply{}
}

func zincrby(s *Server, _ *conn, args []string) service.Reply {
	by, isFloat := parseScore(args[2])
	if !isFloat {
		return notAFloat()
	}
	e, ok := s.aggregate(args[1], aSortedSet)
	if !ok {
		return wrongType()
	}
	sum := e.scores[args[3]] + by
	if math.IsNaN(sum) {
		return failure("ERR resulting score is not a number (NaN)")
	}
	e.scores[args[3]] = sum
	s.changed(args[1])
	return bulk(formatScore(sum))
}

// ranked lists the members by score, and those of equal score by name.
func (e *entry) ranked() []string {
	members := sortedKeys(e.scores)
	slices.SortStableFunc(members, func(a, b string) int { return cmp.Compare(e.scores[a], e.scores[b]) })
	return members
}

func parseScore(text string) (float64, bool) {
	switch strings.ToLower(text) {
	case "inf", "+inf":
		return math.Inf(1), true
	case "-inf":
		return math.Inf(-1), true
	}
	score, err := strconv.ParseFloat(text, 64)
	return score, err == nil && !math.IsNaN(score)
}

// formatScore writes a score as Redis does: 17 digits, fewer where they are zeros.
func formatScore(score float64) string {
	switch {
	case math.IsInf(score, 1):
		return "inf"
	case math.IsInf(score, -1):
		return "-inf"
	case score == math.Trunc(score) && math.Abs(score) < 1e17:
		return strconv.FormatFloat(score, 'f', 0, 64)
	}
	return strconv.FormatFloat(score, 'g', 17, 64)
}
