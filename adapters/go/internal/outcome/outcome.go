// Package outcome says what came of an operation of a library.
//
// It owns what an error means to the lab. It must not know a library.
package outcome

import "errors"

// Of is the outcome of an operation by its error: a refusal means no, any other error that it is not known.
func Of(err error, refusals ...error) (bool, error) {
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return false, nil
		}
	}
	return err == nil, err
}
