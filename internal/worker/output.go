package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// output writes messages, one a line.
type output struct {
	mu      sync.Mutex
	encoder *json.Encoder
	failed  context.CancelCauseFunc // called when the lab no longer reads
}

func (o *output) say(message protocol.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.encoder.Encode(message); err != nil {
		o.failed(fmt.Errorf("writing to the lab: %w", err))
	}
}

func (o *output) answer(id int64, message protocol.Message) {
	message.ID = id
	o.say(message)
}
