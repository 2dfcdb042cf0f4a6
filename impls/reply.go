package impls

import "fmt"

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
