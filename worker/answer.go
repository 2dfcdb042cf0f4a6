package worker

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker/protocol"
	"github.com/locklab/locklab/worker/work"
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
	answer := protocol.Message{Outcome: wordFor(impls.Outcome(ok, err))}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

func failed(err error) protocol.Message { return settled(false, err) }

// worked is the answer to work.
func worked(r work.Result) protocol.Message {
	return protocol.Message{
		Outcome: wordFor(r.Outcome), Error: r.Error, Unsupported: r.Unsupported, Read: r.Read, Wrote: r.Wrote, Did: r.Did,
	}
}

func wordFor(outcome history.Outcome) string {
	switch outcome {
	case history.OK:
		return protocol.OK
	case history.No:
		return protocol.No
	}
	return protocol.Unknown
}
