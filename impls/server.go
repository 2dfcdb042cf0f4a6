package impls

import "context"

// Server is one lock server. A Server may be used by several goroutines at once.
//
// Commands are sent as the lock names them. Replies are string, int64, nil, or []any of these. An error reply is a ServerError or, to a
// script that may have run, a ScriptError. The outcome of any other error is unknown.
type Server interface {
	Do(ctx context.Context, args ...any) (any, error)
	// Eval runs a script: EVALSHA first, then EVAL if the server does not know it.
	Eval(ctx context.Context, script *Script, keys []string, args ...any) (any, error)
	// Watch sends WATCH for the keys, if any, on a connection reserved for fn, and UNWATCH if fn returns without Exec. It returns the error
	// of WATCH, or else that of fn.
	Watch(ctx context.Context, keys []string, fn func(tx Tx) error) error
	// Subscribe returns when the server has confirmed the subscription: what is published from then on will be received.
	Subscribe(ctx context.Context, channel string) (Subscription, error)
}

// Tx is a connection that watches keys. It is used by one goroutine, and only until the function that got it returns.
type Tx interface {
	// Do sends a command at once, between WATCH and MULTI.
	Do(ctx context.Context, args ...any) (any, error)
	// Exec sends MULTI, the commands and EXEC, and returns the replies to the commands. done is false if the transaction was
	// aborted because a watched key had changed.
	Exec(ctx context.Context, commands ...Command) (replies []any, done bool, err error)
}

// Command is a command and its arguments.
type Command []any

// Subscription receives what is published on one channel. It is used by one goroutine.
type Subscription interface {
	// Receive waits for the next message. After an error that is not the context's the subscription is over.
	Receive(ctx context.Context) (string, error)
	// Close ends the subscription. Closing twice is harmless.
	Close()
}
