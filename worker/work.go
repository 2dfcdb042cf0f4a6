package worker

import (
	"context"
	"fmt"
	"strconv"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker/protocol"
)

// increment is the work under a lock: it reads a counter and writes it back one higher, in two commands, so that only a lock that
// holds saves it from losing updates.
func increment(ctx context.Context, resource impls.Server, key string) protocol.Message {
	read, err := counter(resource.Do(ctx, "GET", key))
	if err != nil {
		return failed(err)
	}
	wrote := read + 1
	_, err = resource.Do(ctx, "SET", key, wrote)
	answer := settled(err == nil, err)
	answer.Read, answer.Wrote = &read, &wrote
	return answer
}

// counter reads the reply of GET; a counter that is not there stands at zero.
func counter(reply any, err error) (int64, error) {
	if err != nil || reply == nil {
		return 0, err
	}
	n, err := strconv.ParseInt(fmt.Sprint(reply), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the counter is no number: %w", err)
	}
	return n, nil
}
