package redis

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/service"
)

func channelCommands() map[string]command {
	return map[string]command{
		"SUBSCRIBE":   {arity: -2, outside: true, run: subscribe},
		"UNSUBSCRIBE": {arity: -1, outside: true, run: unsubscribe},
		"PUBLISH":     {arity: 3, run: publish},
	}
}

// subscribe answers with the confirmation of the last channel.
func subscribe(_ *Server, c *conn, args []string) service.Reply {
	for _, channel := range args[1:] {
		if !slices.Contains(c.topics, channel) {
			c.topics = append(c.topics, channel)
		}
	}
	return array([]service.Reply{bulk("subscribe"), bulk(args[len(args)-1]), integer(int64(len(c.topics)))})
}

// unsubscribe without channels ends all subscriptions.
func unsubscribe(_ *Server, c *conn, args []string) service.Reply {
	last := service.Reply{}
	if len(args) > 1 {
		last = bulk(args[len(args)-1])
	} else if len(c.topics) > 0 {
		last = bulk(c.topics[len(c.topics)-1])
	}
	c.topics = slices.DeleteFunc(c.topics, func(channel string) bool { return len(args) == 1 || slices.Contains(args[1:], channel) })
	return array([]service.Reply{bulk("unsubscribe"), last, integer(int64(len(c.topics)))})
}

// publish delivers a message to the inboxes of its subscribers, and answers how many there are.
func publish(s *Server, _ *conn, args []string) service.Reply {
	receivers := int64(0)
	for _, c := range s.conns {
		if slices.Contains(c.topics, args[1]) {
			c.inbox = append(c.inbox, service.Message{Channel: args[1], Text: args[2]})
			receivers++
		}
	}
	return integer(receivers)
}
