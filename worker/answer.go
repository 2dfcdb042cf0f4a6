package worker

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker/protocol"
)

// The functions below make answers; the session adds the id.

func done() protocol.Message { return protocol.Message{Outcome: protocol.OK} }

func refused(why string) protocol.Message {
	return protocol.Message{Outcome: protocol.No, Error: why}
}

func unsupported(why string) protocol.Message {
	return protocol.Message{Outcome: protocol.No, Unsupported: true, Error: why}
}

// settled is the answer to an operation that returned ok and err.
func settled(ok bool, err error) protocol.Message {
	var answer protocol.Message
	switch impls.Outcome(ok, err) {
	case history.OK:
		answer.Outcome = protocol.OK
	case history.No:
		answer.Outcome = protocol.No
	default:
		answer.Outcome = protocol.Unknown
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

func failed(err error) protocol.Message { return settled(false, err) }
