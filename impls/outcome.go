package impls

import (
	"errors"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
)

// ServerError is an error reply of the server: the command was answered, and definitely not carried out.
type ServerError string

func (e ServerError) Error() string { return string(e) }

// ScriptError is an error reply to a script that may have run in part: Redis keeps what it wrote before the error.
type ScriptError string

func (e ScriptError) Error() string { return string(e) }

// Exception is an error of the lock's own code, such as a null pointer: each reply came, and the user is told that it did not get what it asked for.
type Exception string

func (e Exception) Error() string { return string(e) }

// ErrorReply turns the text of an error reply into an error: in reply to a script a ScriptError, unless the error code says that the
// server refused to start the script; a ServerError otherwise.
func ErrorReply(text string, toScript bool) error {
	if !toScript {
		return ServerError(text)
	}
	code, _, _ := strings.Cut(text, " ")
	refusals := []string{"NOSCRIPT", "NOAUTH", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN", "EXECABORT"}
	if slices.Contains(refusals, code) {
		return ServerError(text)
	}
	return ScriptError(text)
}

// Classify is the error table: it maps the error that ended an operation to the operation's outcome.
//
//	none                                        OutcomeNone
//	ServerError: refused, not carried out       No
//	Exception: thrown by the lock's own code    No
//	ScriptError: a script failed half-way       Unknown
//	a context ended: cancelled, or timed out    Unknown
//	anything else (network, malformed replies)  Unknown
func Classify(err error) history.Outcome {
	if err == nil {
		return history.OutcomeNone
	}
	refused, thrown := ServerError(""), Exception("")
	if errors.As(err, &refused) || errors.As(err, &thrown) {
		return history.No
	}
	return history.Unknown
}

// Outcome is the outcome of an operation that returned done and err.
func Outcome(done bool, err error) history.Outcome {
	switch {
	case err != nil:
		return Classify(err)
	case done:
		return history.OK
	}
	return history.No
}
