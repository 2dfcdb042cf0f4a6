package adaptertest

import "strings"

// CodeLines is how many lines of a source in Go, Java, JavaScript, Python or shell are neither empty nor comments.
func CodeLines(source string) (lines int) {
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		comment := strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "/*") || strings.HasPrefix(line, "* ")
		if line != "" && line != "*/" && !comment {
			lines++
		}
	}
	return lines
}
