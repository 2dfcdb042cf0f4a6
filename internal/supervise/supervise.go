// Package supervise runs a program as a child of itself, so that a panic, or a fatal error of the Go runtime, becomes an exit code of the
// program's choice: the runtime itself always exits with 2, and of most fatal errors nothing in the process can recover.
//
// It owns the child process and how signals reach it. It must not know what the program does.
package supervise

import (
	"bytes"
	"os"
)

// asChild is the first argument of the child.
const asChild = "locklab-supervised"

// mostTrace bounds, in bytes, what is kept of a trace.
const mostTrace = 1 << 20

// End is how the child ended.
type End struct {
	Code   int       // its exit code; -1: a signal ended it
	Signal os.Signal // the signal, or nil
	Trace  []byte    // what the runtime wrote about a panic or a fatal error, which it has also written to standard error; nil: there was none
}

// Crashed says whether the runtime ended the child. A SIGQUIT also makes it write a trace, but by order.
func (e End) Crashed() bool { return len(e.Trace) > 0 && !e.Quit() }

// Quit says whether a SIGQUIT made the runtime end the child.
func (e End) Quit() bool { return bytes.HasPrefix(e.Trace, []byte("SIGQUIT: ")) }

// Reason says why the child crashed. The reason of a fatal error is on standard error only: the runtime prints it before it begins the trace.
func (e End) Reason() string {
	for line := range bytes.Lines(e.Trace) {
		if bytes.HasPrefix(line, []byte("panic: ")) {
			return string(bytes.TrimSpace(line))
		}
	}
	return "a fatal error of the Go runtime"
}
