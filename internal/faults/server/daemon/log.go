package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LastLines returns the last five lines of a log beyond the offset, each after a line break.
func LastLines(path string, offset int64) string {
	text := logged(path, offset)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "\n" + strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// logged is what was written to a log from an offset on.
func logged(path string, offset int64) string {
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) <= offset {
		return ""
	}
	return strings.TrimSpace(string(text[offset:]))
}

// Numbered is the path of the log of one of several processes.
func Numbered(path string, number int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), number, ext)
}
