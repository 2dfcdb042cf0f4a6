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

// ScriptError is an error reply to a script that may have run in part: what it wrote before the error stays written.
type ScriptError string

func (e ScriptError) Error() string { return string(e) }

// ErrorReply is the error that an error reply with the given text stands for. In reply to a script it is a ScriptError, unless
// the server says by its first word that it refused to start the script.
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
//	ScriptError: a script failed on its way     Unknown
//	a context ended: given up, or too late      Unknown
//	anything else (network, nonsense replies)   Unknown
func Classify(err error) history.Outcome {
	if err == nil {
		return history.OutcomeNone
	}
	if refused := ServerError(""); errors.As(err, &refused) {
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
