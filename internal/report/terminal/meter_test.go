package terminal

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMeter(t *testing.T) {
	tests := map[string]struct {
		opts  Options
		quiet bool
		want  string
	}{
		"file":     {Options{}, false, "progress: three\n"},
		"terminal": {Options{Bar: true, Width: 4}, false, "\rone\x1b[K\rtwo\x1b[K\rth…\x1b[K\r\x1b[K"},
		"quiet":    {Options{Bar: true}, true, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			m := NewMeter(&b, test.opts, test.quiet)
			m.Show(1900*time.Millisecond, "too early")
			m.Show(3*time.Second, "one")
			m.Show(3*time.Second+200*time.Millisecond, "two")
			m.Show(12*time.Second, "three")
			m.Clear()
			m.Clear()
			assert.Equal(t, test.want, b.String())
		})
	}
}
