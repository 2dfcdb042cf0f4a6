package worker

import "github.com/locklab/locklab/internal/worker/protocol"

// These functions make replies; the session adds the id.

func done() protocol.Message { return protocol.Message{Outcome: protocol.OK} }

func refused(why string) protocol.Message { return protocol.Message{Outcome: protocol.No, Error: why} }

func unsupported(why string) protocol.Message {
	return protocol.Message{Outcome: protocol.No, Unsupported: true, Error: why}
}
