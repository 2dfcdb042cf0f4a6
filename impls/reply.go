package impls

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
)

// The functions below read a reply together with the error of its command, so that a lock can write
// applied(server.Do(ctx, "DEL", key)).

// applied reads the reply of a command that counts what it changed: SETNX, DEL, and the scripts here.
func applied(reply any, err error) (bool, error) {
	n, err := number(reply, err)
	return n > 0, err
}

// number reads the reply of a command that counts.
func number(reply any, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("a number was expected, the server answered %v", reply)
	}
	return n, nil
}

// stored reads the reply of SET … NX: OK, or nil if the key was there.
func stored(reply any, err error) (bool, error) {
	if err != nil || reply == nil {
		return false, err
	}
	if reply != "OK" {
		return false, fmt.Errorf("OK or nil was expected, the server answered %v", reply)
	}
	return true, nil
}

// value reads the reply of GET and GETSET; found is false if it is nil.
func value(reply any, err error) (text string, found bool, _ error) {
	if err != nil || reply == nil {
		return "", false, err
	}
	text, ok := reply.(string)
	if !ok {
		return "", false, fmt.Errorf("a string was expected, the server answered %v", reply)
	}
	return text, true, nil
}

// first is the first of the replies to a transaction.
func first(replies []any) any {
	if len(replies) == 0 {
		return nil
	}
	return replies[0]
}

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
