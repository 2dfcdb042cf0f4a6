package redis

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/internal/sim/service"
)

func status(text string) service.Reply { return service.Reply{Kind: service.Status, Text: text} }

func failure(text string) service.Reply { return service.Reply{Kind: service.Error, Text: text} }

func integer(n int64) service.Reply { return service.Reply{Kind: service.Integer, Int: n} }

func bulk(text string) service.Reply { return service.Reply{Kind: service.Bulk, Text: text} }

func array(list []service.Reply) service.Reply { return service.Reply{Kind: service.Array, List: list} }

func yesNo(yes bool) service.Reply {
	if yes {
		return integer(1)
	}
	return integer(0)
}

func bulks(texts []string) service.Reply {
	list := make([]service.Reply, len(texts))
	for i, text := range texts {
		list[i] = bulk(text)
	}
	return array(list)
}

// The errors that several commands answer, in the words of Redis 7.0.
func wrongType() service.Reply {
	return failure("WRONGTYPE Operation against a key holding the wrong kind of value")
}

func wrongCount(command string) service.Reply {
	return failure(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(command)))
}

func notAnInteger() service.Reply { return failure("ERR value is not an integer or out of range") }

func badExpiry(command string) service.Reply {
	return failure(fmt.Sprintf("ERR invalid expire time in '%s' command", strings.ToLower(command)))
}
