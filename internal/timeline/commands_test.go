package timeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

func TestAcceptedWrites(t *testing.T) {
	for _, tt := range []struct {
		command, reply string
		answered, want bool
	}{
		{"SET n 1", "OK", true, true},
		{"set n 1", "OK", true, true},
		{"SET n 1", "", false, false},       // the connection ended first
		{"SET n 1", "QUEUED", false, false}, // its EXEC counts
		{"SET n 1", "-OOM", false, false},
		{"UNHEARDOF n", "OK", true, true},
		{"GET n", "1", true, false},
		{"get n", "1", true, false},
		{"EVAL_RO x 1 n", "1", true, false},
		{"EVAL x 1 n", "1", true, true},
		{"EVAL x 1 n:fence 7", "OK", true, false}, // it shows a fence
		{"evalsha x 1 n:fence:item-1 7", "OK", true, false},
		{"EVAL x 1 n:fences 7", "OK", true, true},
		{"EVAL x 1 n 7", "OK", true, true},
		{"EVAL x 2 n n:fence 1 7", "OK", true, true},
		{"EVAL x 1 n:fence 7 3 SET n 1", "OK", true, true},
		{"SET n:fence 7", "OK", true, true},
		{"EXEC", "1", true, true},
		{"exec", "nil", true, false}, // the transaction was aborted
		{"SPOP n", "nil", true, true},
		{"", "OK", false, false},
	} {
		c := &history.Command{Args: strings.Fields(tt.command), Reply: tt.reply}
		assert.Equal(t, tt.answered, timeline.Answered(c), "%q %q", tt.command, tt.reply)
		assert.Equal(t, tt.want, timeline.AcceptedWrite(c), "%q %q", tt.command, tt.reply)
	}
	for _, name := range []string{"EVAL", "evalsha", "FCALL", "EXEC"} {
		assert.True(t, ownership.RunsScript(name), name)
	}
	assert.False(t, ownership.RunsScript("SET"))
	assert.False(t, ownership.RunsScript("EVAL_RO"))
}
