package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Limits of what is kept of a client's standard error, in bytes: on disk, and for a verdict.
const (
	maxStderr    = 1 << 20
	maxLastWords = 300
)

// lastWords keeps the beginning of a client's standard error in a file, and remembers the end. What a client writes beyond the
// limit is read and forgotten: it must neither fill the disk nor stop the client.
type lastWords struct {
	file *os.File
	end  []byte // valid once done is closed
	err  error
	done chan struct{}
}

// keepLastWords returns the end of a pipe for the client; the caller closes it once the client has it.
func keepLastWords(path string) (*lastWords, *os.File, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	w := &lastWords{file: file, done: make(chan struct{})}
	go w.listen(from)
	return w, to, nil
}

func (w *lastWords) listen(from *os.File) {
	defer close(w.done)
	defer from.Close()
	buffer := make([]byte, 4<<10)
	for room := maxStderr; ; {
		n, err := from.Read(buffer)
		w.end = append(w.end, buffer[:n]...)
		w.end = w.end[max(0, len(w.end)-maxLastWords):]
		kept := min(n, room)
		if _, writeErr := w.file.Write(buffer[:kept]); writeErr != nil {
			w.err = writeErr
			room = 0
		}
		room -= kept
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.err = errors.Join(w.err, err)
			}
			return
		}
	}
}

// String is the end of what a client wrote before it went, as the end of a sentence about it. It is empty while the client's
// standard error is still open.
func (w *lastWords) String() string {
	select {
	case <-w.done:
	default:
		return ""
	}
	text := strings.Join(strings.Fields(string(w.end)), " ")
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (its last words: %s)", text)
}

// close waits until the client's standard error has ended; the client is gone by then.
func (w *lastWords) close() error {
	<-w.done
	return errors.Join(w.err, w.file.Close())
}
