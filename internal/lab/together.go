package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/locklab/locklab/history"
)

// maxTogether bounds how many bytes of histories that follow one another are read.
const maxTogether = 256 << 20

var errTooLong = errors.New("the histories are too long")

// headerStart begins the line that begins a history.
const headerStart = `{"locklab_history"`

// together reads histories that follow one another in a file, by the cell that the header of each names. What they say is for history.Read to find out;
// what belongs to none is left out.
func together(r io.Reader) (byCell map[string][]byte, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxTogether+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTogether {
		return nil, errTooLong
	}
	byCell = make(map[string][]byte)
	for len(text) > 0 {
		size := len(text)
		if next := bytes.Index(text[1:], []byte("\n"+headerStart)); next >= 0 {
			size = next + 2
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		var h history.Header
		if json.Unmarshal(line, &h) == nil && h.Cell != "" {
			byCell[h.Cell] = text[:size]
		}
		text = text[size:]
	}
	return byCell, nil
}
